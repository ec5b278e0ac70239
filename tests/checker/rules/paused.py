"""What is paused stands still, for all processes, until somebody asks to resume it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Life
from tests.checker.history import NEVER, Operation
from tests.checker.rules.rule import Broken, Case, rule


@rule("Once a pause is answered, no claim that begins later gives out a job of it, until somebody asks to resume it.")
def paused_work(case: Case) -> Iterator[Broken]:
    for pause in case.history.of("pause_work"):
        for name in pause.asked.names if pause.ok else ():
            until = _resumed_at(case, pause, name)
            for life in case.evidence.lives.values():
                for lease in life.leases if _is_of(life, pause.asked.kind, name) else ():
                    if pause.before(lease.claim) and lease.claim.ended < until:
                        message = f"job {life.id} was given out while its {pause.asked.kind} {name!r} was paused"
                        yield Broken(message, (*pause.events, *lease.claim.events))


def _resumed_at(case: Case, pause: Operation, name: str) -> int:
    """The first moment at which it may have been resumed."""
    asked = pause.asked
    resumes = (one for one in case.history.of("resume_work") if one.asked.kind == asked.kind and not one.before(pause))
    return min((one.begun for one in resumes if name in one.asked.names), default=NEVER)


def _is_of(life: Life, kind: str, name: str) -> bool:
    if kind == "type":
        return life.type == name
    return life.job is not None and life.job.queue == name
