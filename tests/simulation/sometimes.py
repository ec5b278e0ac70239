"""What must have happened somewhere in the seeds: a simulation in which it never does proves nothing about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.checker.history import History, Operation
from tests.checker.truth import Truth
from tests.simulation.flows_happened import WORKFLOWS_SOMETIMES

Happened = Callable[[History, Truth], int]


def _lost_leases(history: History, truth: Truth) -> int:
    """Outcomes that were refused because somebody else had been given the job."""
    newest: dict[str, int] = {}
    for claim in history.of("claim"):
        for job in claim.told.jobs if claim.ok else ():
            newest[job.id] = max(job.token, newest.get(job.id, 0))
    return sum(
        end.token in one.told.lost and newest.get(end.id, 0) > end.token
        for one in history.of("finish")
        if one.ok and one.told.lost
        for end in (*one.asked.completed, *one.asked.unfinished)
    )


def _uncertain(history: History, op: str) -> int:
    """Not those that were cut short by the end of their process, which leave no answer at all."""
    return sum(one.told is not None and "CommitUncertain" in one.told.error for one in history.of(op) if not one.ok)


def _recovery_raced_finish(history: History, truth: Truth) -> int:
    """A recovery took a job while its worker was already telling how it had ended."""
    recoveries = [one for one in history.of("recover") if one.ok and one.told.jobs]
    return sum(
        not one.before(other) and not other.before(one) and not set(one.told.jobs).isdisjoint(_finished(other))
        for one in recoveries
        for other in history.of("finish")
    )


def _finished(finish: Operation) -> Iterator[str]:
    for one in (*finish.asked.completed, *finish.asked.unfinished):
        yield one.id


def _registered_again(history: History, truth: Truth) -> int:
    times = Counter(one.process for one in history.of("register") if one.ok)
    return sum(count - 1 for count in times.values())


def _leader_replaced(history: History, truth: Truth) -> int:
    holders = [one.process for one in history.of("lead") if one.ok and one.told.acting]
    return sum(one != other for one, other in pairwise(holders))


def _refused_by_key(history: History, truth: Truth) -> int:
    return sum(
        job.unique is not None and told != job.id
        for one in history.of("enqueue")
        if one.ok
        for job, told in zip(one.asked.jobs, one.told.ids, strict=True)
    )


def _stored_before(history: History, truth: Truth) -> int:
    return sum(
        not created and told == job.id
        for one in history.of("enqueue")
        if one.ok
        for job, created, told in zip(one.asked.jobs, one.told.created, one.told.ids, strict=True)
    )


def _fires(history: History) -> Iterator[Operation]:
    """By leaders, and answered."""
    return (one for one in history.of("schedule") if one.ok and one.asked.term is not None)


def _released(history: History, truth: Truth) -> int:
    return sum(end.event == "release" for one in history.of("finish") if one.ok for end in one.asked.unfinished)


def _resumed(history: History, truth: Truth) -> int:
    """Nothing of it was claimed while it was paused, and something was afterwards."""
    types = {job.id: job.type for one in history.of("enqueue") for job in one.asked.jobs}
    resumes = [one for one in history.of("resume_work") if one.ok]
    claimed = [(one.begun, types.get(job.id)) for one in history.of("claim") if one.ok for job in one.told.jobs]
    return sum(any(at > one.ended and type in one.asked.names for at, type in claimed) for one in resumes)


SOMETIMES: dict[str, Happened] = {
    "a lease was lost": _lost_leases,
    "an enqueue was uncertain": lambda history, truth: _uncertain(history, "enqueue"),
    "an outcome was uncertain": lambda history, truth: _uncertain(history, "finish"),
    "an enqueue was stored before": _stored_before,
    "a unique key was held": _refused_by_key,
    "a recovery raced a finish": _recovery_raced_finish,
    "a worker was declared lost and registered again": _registered_again,
    "a leader was replaced": _leader_replaced,
    "a deposed leader was refused": lambda history, truth: _refused_terms(history),
    "a job was given back": lambda history, truth: sum(bool(o.told.waiting) for o in history.of("give_back") if o.ok),
    "a job was released": _released,
    "a schedule was fired": lambda history, truth: sum(bool(one.told.stored) for one in _fires(history)),
    "a tick was taken before by somebody else": lambda history, truth: sum(
        len(one.told.stored) < len(one.asked.changes) for one in _fires(history)
    ),
    "a fire was uncertain": lambda history, truth: _uncertain(history, "schedule"),
    "a running job was cancelled": lambda history, truth: sum(
        one.told.before in ("claimed", "running") for one in history.of("cancel") if one.ok
    ),
    "a job died of its crashes": lambda history, truth: sum(job.decided_by == "recovery" for job in truth.jobs),
    "a job expired": lambda history, truth: truth.counts.get("expired", 0),
    "a dead letter was retried": lambda history, truth: sum(job.retried_from is not None for job in truth.jobs),
    "a job was given out after its type had been resumed": _resumed,
    "an effect was committed with its job": lambda history, truth: len(truth.effects),
    **WORKFLOWS_SOMETIMES,
}
"""Each tells how often it happened in one seed."""


def _refused_terms(history: History) -> int:
    return sum(event.phase == "fail" and "NotLeader" in getattr(event, "error", "") for event in history.events)


def count_happened(history: History, truth: Truth) -> Counter[str]:
    return Counter({name: count(history, truth) for name, count in SOMETIMES.items()})
