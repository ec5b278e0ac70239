"""A history without some of its jobs: of what a fault itself has deleted, nothing is promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from tests.checker.events import (
    ClaimTold,
    EffectNoted,
    EnqueueAsked,
    EnqueueTold,
    EnqueueWorkflowAsked,
    Event,
    FinishAsked,
    RunNoted,
    ScheduleAsked,
    TakenTold,
    TokensAsked,
    WorkflowAsked,
)
from tests.checker.truth import Truth


def forget(events: Iterable[Event], ids: Collection[str]) -> list[Event]:
    """The same events in their order, without a word of these jobs."""
    return list(_without(list(events), frozenset(ids)))


def forget_stored(truth: Truth, ids: Collection[str]) -> Truth:
    """The same store without these jobs."""
    counts = Counter(truth.counts)
    counts.subtract(job.state for job in truth.jobs if job.id in ids)
    return replace(truth, jobs=tuple(job for job in truth.jobs if job.id not in ids), counts=dict(counts))


def _without(events: list[Event], ids: frozenset[str]) -> Iterator[Event]:
    tokens = {job.token for event in events if isinstance(event, ClaimTold) for job in event.jobs if job.id in ids}
    for event in events:
        if isinstance(event, RunNoted | EffectNoted):
            if event.id not in ids:
                yield event
        elif isinstance(event, EnqueueAsked | ClaimTold):
            yield replace(event, jobs=_unlisted(event.jobs, ids))
        elif isinstance(event, EnqueueTold):
            kept = [index for index, id in enumerate(event.ids) if id not in ids]
            yield replace(
                event, ids=tuple(event.ids[index] for index in kept), created=tuple(event.created[i] for i in kept)
            )
        elif isinstance(event, FinishAsked):
            workflows = [replace(one, workflow=_left(one.workflow, ids)) for one in event.workflows]
            yield replace(
                event,
                completed=_others(event.completed, tokens),
                unfinished=_others(event.unfinished, tokens),
                workflows=_others(tuple(workflows), tokens),
            )
        elif isinstance(event, EnqueueWorkflowAsked):
            yield replace(event, workflow=_left(event.workflow, ids))
        elif isinstance(event, ScheduleAsked):
            changes = [replace(one, jobs=_unlisted(one.jobs, ids)) for one in event.changes]
            yield replace(event, changes=tuple(changes))
        elif isinstance(event, TakenTold):
            yield replace(event, jobs=tuple(id for id in event.jobs if id not in ids))
        elif isinstance(event, TokensAsked):
            yield replace(event, tokens=tuple(token for token in event.tokens if token not in tokens))
        else:
            yield event


def _left(workflow: WorkflowAsked, ids: frozenset[str]) -> WorkflowAsked:
    """As if it had been planned without them."""
    steps = [replace(step, jobs=_unlisted(step.jobs, ids)) for step in workflow.steps]
    undo = workflow.compensate
    return replace(workflow, steps=tuple(steps), compensate=None if undo is None or undo.id in ids else undo)


def _others(ends: tuple[Any, ...], tokens: set[int]) -> tuple[Any, ...]:
    return tuple(end for end in ends if end.token not in tokens)


def _unlisted(jobs: tuple[Any, ...], ids: frozenset[str]) -> tuple[Any, ...]:
    return tuple(job for job in jobs if job.id not in ids)
