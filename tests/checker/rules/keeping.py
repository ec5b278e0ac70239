"""Nothing is lost: every acknowledged job is there at the end, and the numbers add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.checker.evidence import Life
from tests.checker.history import NEVER
from tests.checker.rules.rule import Broken, Case, rule


@rule("When an enqueue was acknowledged, the job ends in one visible final state, or is removed as its options say.")
def no_loss(case: Case) -> Iterator[Broken]:
    for life in case.evidence.lives.values():
        message = _lost(case, life)
        if message is not None:
            yield Broken(f"job {life.id} {message}", jobs=(life.id,), at=NEVER)


def _lost(case: Case, life: Life) -> str | None:
    if not life.true:
        return "was acknowledged and is not in the store" if life.certain and not may_be_removed(case, life) else None
    if len(life.true) > 1:
        return f"is in the store {len(life.true)} times"
    [job] = life.true
    if life.possible and not job.final and job.type not in case.bounds.waiting:
        return f"has not ended: it is {job.state}"
    return None


def may_be_removed(case: Case, life: Life) -> bool:
    """Whether its options or retention may have removed it: never before it has ended."""
    return _ended(case, life) and (life.removable or removed(case) > 0)


def _ended(case: Case, life: Life) -> bool:
    """Whether anything may have ended it: in the history, unheard, or, of which there is no trace, by its expiry."""
    others = life.taken or life.failed or life.cancels or (life.job and life.job.ttl)
    vague = case.evidence.vague
    if life.leases and not case.evidence.vague_claims:
        vague = [one for one in vague if one.ended >= life.leases[-1].claim.begun]
    unheard = vague if life.leases or case.evidence.vague_claims else ()
    writes = (write for lease in life.leases for write in lease.writes)
    return bool(others or unheard) or any(life.ends_for_good(write) for write in writes)


def removed(case: Case) -> int:
    """How many jobs retention and operators have removed, at the most."""
    operations = case.history.of("prune", "purge_dead")
    if not all(operation.ok for operation in operations):
        return NEVER
    return sum(operation.told.removed for operation in operations)


@rule("What was enqueued is what the store counts at the end, plus what was removed.")
def conservation(case: Case) -> Iterator[Broken]:
    listed = Counter(_word(job.state) for job in case.truth.jobs)
    counts: Counter[str] = Counter()
    for state, jobs in case.truth.counts.items():
        counts[_word(state)] += jobs
    if counts != listed:
        yield Broken(f"the store counts {_numbers(counts)} and lists {_numbers(listed)}", at=NEVER)
    lives = case.evidence.lives.values()
    certain = [life for life in lives if life.certain]
    gone = [life for life in certain if not life.true and life.removable and _ended(case, life)]
    low = len(certain) - len(gone) - removed(case)
    high = sum(life.possible for life in lives)
    total = sum(counts.values())
    if not low <= total <= high:
        wanted = str(high) if low == high else f"{max(0, low)} to {high}"
        yield Broken(f"{wanted} jobs were enqueued and not removed, and the store counts {total}", at=NEVER)


def _word(state: str) -> str:
    """A scheduled job may become due between two looks at it."""
    return "waiting" if state in ("pending", "scheduled") else state


def _numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{jobs} {state}" for state, jobs in sorted(counts.items()) if jobs) or "nothing"
