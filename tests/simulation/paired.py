"""Which features really came together on one job, and how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from penstock.domain.clock import MICROSECONDS
from penstock.domain.job import FINAL
from penstock.domain.options import DEFAULT_CAPABILITY
from tests.checker.events import JobAsked, WorkflowAsked
from tests.checker.evidence import Life
from tests.checker.history import NEVER as NOT_YET, History
from tests.checker.rules import Case
from tests.simulation.features import KINDS, PAIRS, Pair
from tests.simulation.names import NOWHERE, ORDERED

TYPES = {type: name for name, type in KINDS.items() if name != "no worker"}

ENOUGH_SEEDS = 200
"""So many, from the first, have all pairs; tests see to it."""


def count_pairs(case: Case) -> Counter[Pair]:
    """How many stored jobs had both of two features."""
    sources, fates = _sources(case.history), _fates(case)
    pairs: Counter[Pair] = Counter()
    for life in case.evidence.lives.values():
        if life.job is not None and (life.leases or life.true):
            found = {*_asked(life.job), *_lived(life, life.job), *sources[life.id], *fates[life.id]}
            pairs.update(combinations(sorted(found), 2))
    return pairs


def _asked(job: JobAsked) -> Iterator[str]:
    has = {
        "unique": job.unique is not None,
        "limit": job.key is not None and job.key not in ORDERED,
        "ordered": job.key in ORDERED,
        "rate": job.rate is not None,
        "ttl": job.ttl is not None,
        "tenant": job.tenant is not None,
        "delay": job.delay > 0,
        "priority": job.priority != 0,
        "resources": job.resources,
        "capability": job.capability not in (DEFAULT_CAPABILITY, NOWHERE),
    }
    yield from (name for name, is_so in has.items() if is_so)
    if job.type in TYPES:
        yield TYPES[job.type]


def _lived(life: Life, job: JobAsked) -> Iterator[str]:
    writes = [write for lease in life.leases for write in lease.writes if write.operation.ok]
    has = {
        "removed": job.removable and not life.true,
        "retry": any(write.event == "back_off" for write in writes),
        "aged": life.raised,
        "expired": any(one.state == "expired" for one in life.true),
        "no worker": any(one.state == "dead" for one in life.true) and job.type == KINDS["no worker"],
        "recovered": any(one.op == "recover" for one in life.taken),
        "given back": any(one.op == "give_back" and life.id in one.told.waiting for one in life.taken),
    }
    yield from (name for name, is_so in has.items() if is_so)


def _sources(history: History) -> dict[str, set[str]]:
    """Where each job came from."""
    found: dict[str, set[str]] = defaultdict(set)

    def note(what: str, jobs: Iterable[JobAsked]) -> None:
        for job in jobs:
            found[job.id].add(what)

    for one in history.of("enqueue"):
        note("bulk", one.asked.jobs if len(one.asked.jobs) > 1 else ())
    for one in history.of("enqueue_workflow"):
        note("workflow", _planned(one.asked.workflow))
    for one in history.of("finish"):
        note("follow-up", (each.job for each in one.asked.follow_ups))
        for each in one.asked.workflows:
            note("workflow", _planned(each.workflow))
    for one in history.of("schedule"):
        for change in one.asked.changes:
            note("schedule", change.jobs)
    return found


def _planned(new: WorkflowAsked) -> Iterator[JobAsked]:
    for step in new.steps:
        yield from step.jobs
    if new.compensate is not None:
        yield new.compensate


def _fates(case: Case) -> dict[str, set[str]]:
    """What others did to each job."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in case.history.of("cancel"):
        if one.ok and one.told.before not in FINAL:
            found[one.asked.id].add("cancel")
    for one in case.history.of("retry_dead"):
        for old, _ in one.told.pairs if one.ok else ():
            found[old].add("requeued")
    for type, begun, ended in _pauses(case.history):
        for life in case.evidence.lives.values():
            if life.type == type and _waited(life, begun, ended):
                found[life.id].add("pause")
    return found


def _pauses(history: History) -> Iterator[tuple[str, int, int]]:
    """The types that were paused, since when for sure, and until when for sure."""
    resumes = history.of("resume_work")
    for one in history.of("pause_work"):
        for name in one.asked.names if one.ok else ():
            ends = (other.begun for other in resumes if name in other.asked.names and not other.before(one))
            yield name, one.ended, min(ends, default=NOT_YET)


def _waited(life: Life, begun: int, ended: int) -> bool:
    """Whether it was due in this time, and neither with a worker nor at its end."""
    stored, job = life.stored_by, life.job
    if stored is None or job is None:
        return False
    due = stored.ended + int(job.delay * MICROSECONDS)
    left = [one.begun for one in (*(lease.claim for lease in life.leases), *life.failed, *life.cancels)]
    if job.ttl is not None:
        left.append(stored.begun + int((job.delay + job.ttl) * MICROSECONDS))
    return due < ended and min(left, default=0) > begun


def least(pairs: Counter[Pair]) -> tuple[Pair, int]:
    """The pair that came together least often."""
    return min(((pair, pairs[pair]) for pair in PAIRS), key=lambda one: one[1])


def empty(pairs: Counter[Pair]) -> list[Pair]:
    return [pair for pair in PAIRS if not pairs[pair]]


def impossible(pairs: Counter[Pair]) -> list[Pair]:
    """Those that came together and cannot."""
    return sorted(pair for pair, count in pairs.items() if count and pair not in PAIRS)
