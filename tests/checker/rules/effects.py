"""Effects happen as often as promised: exactly once where they are committed with the completion."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.checker.history import NEVER, Operation
from tests.checker.rules.rule import Broken, Case, rule
from tests.checker.truth import TrueJob


@rule("Work that is done in the job's transaction happens once if the job completes, and not at all if it does not.")
def effect_once(case: Case) -> Iterator[Broken]:
    rows = Counter((effect.job, effect.key) for effect in case.truth.effects)
    per_job: Counter[str] = Counter()
    for (id, _), times in rows.items():
        per_job[id] = max(per_job[id], times)
    for life in case.evidence.lives.values():
        exact = life.type in case.bounds.once
        if life.stored_again or (not exact and life.type not in case.bounds.at_least_once):
            continue
        times = per_job[life.id]
        for job in life.true or (None,):
            low, high = _allowed(job, exact)
            if not low <= times <= high:
                shown = f"is {job.state}" if job else "is gone"
                message = f"job {life.id} {shown}, and its effect has happened {times} times"
                yield Broken(message, jobs=(life.id,), at=NEVER)


def _allowed(job: TrueJob | None, exact: bool) -> tuple[int, int]:
    """A job that was asked to cancel ends cancelled, and the transaction of its last attempt commits all the same."""
    if not exact:
        return int(job is not None and job.state == "completed"), NEVER
    if job is None or job.state == "cancelled":
        return 0, 1
    return (1, 1) if job.state == "completed" else (0, 0)


@rule("An effect under a key of ctx.once is begun by one attempt only, unless that said that it raised.")
def key_begun_once(case: Case) -> Iterator[Broken]:
    begun: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    undone = {
        (operation.asked.token, operation.asked.key)
        for operation in case.history.of("end_once")
        if operation.asked.undone and not (operation.ok and operation.told.status == "lost")
    }
    for operation in case.history.of("begin_once"):
        lease = case.evidence.leases.get(operation.asked.token)
        if lease is not None and operation.ok and operation.told.status == "run":
            begun[lease.id, operation.asked.key].append(operation)
    for (job, key), operations in begun.items():
        tokens = {operation.asked.token for operation in operations}
        for_good = {token for token in tokens if (token, key) not in undone}
        if len(for_good) > 1 and not case.evidence.lives[job].stored_again:
            events = [event for operation in operations for event in operation.events]
            yield Broken(f"job {job} was told to run {key!r} by {len(for_good)} attempts", events)
