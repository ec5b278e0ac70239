"""What holds when time was taken back: a backup was restored, or a replica took over that had not heard everything.

Of what was acknowledged in the gap nothing is promised. What was acknowledged before it, or asked for after it, is
there; and what a worker has claimed in it is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tests.chaos.actors import Broken
from tests.chaos.truth import Truth
from tests.checker.events import EnqueueAsked, EnqueueWorkflowAsked, Event, ScheduleAsked
from tests.checker.history import History, Operation
from tests.checker.rules import Rule, effects, keeping, origins, tokens, workflows

RULES: tuple[Rule, ...] = (
    effects.effect_once, keeping.conservation, keeping.no_loss, origins.nothing_from_nowhere, tokens.tokens_grow,
    workflows.no_workflow_is_stuck,
)  # fmt: skip
"""The promises that hold over a gap too. Jobs that ended in it run again, and so do steps of their workflows."""
RULES_IF_SENT_AGAIN = tuple(one for one in RULES if one not in (keeping.conservation, origins.nothing_from_nowhere))
"""A client that sends everything again makes anew what is gone."""


@dataclass(frozen=True)
class Gap:
    """By the clock of the histories. The store goes back from a moment between the last two to one between the first
    two.
    """

    copy_begun: int
    copy_ended: int
    return_begun: int
    return_ended: int

    def may_undo(self, operation: Operation) -> bool:
        return operation.ended >= self.copy_begun and operation.begun <= self.return_ended

    def surely_undoes(self, operation: Operation) -> bool:
        return operation.begun > self.copy_ended and operation.ended < self.return_begun


def taken_back(events: Sequence[Event], truth: Truth, gap: Gap) -> Collection[str]:
    """The jobs and workflows that are gone; each of them may be."""
    stored = {*truth.jobs, *(one.id for one in truth.workflows)}
    gone: set[str] = set()
    for operation in History(events).of("enqueue", "enqueue_workflow", "schedule"):
        for id in _made(operation):
            if id in stored:
                continue
            gone.add(id)
            if operation.ok and not gap.may_undo(operation):
                raise Broken(f"lost: {id} was acknowledged to {operation.process}, and not while time was taken back")
    return gone


def fired_again(events: Sequence[Event], gap: Gap) -> set[str]:
    """Jobs of ticks that were taken in the gap and once more after it, with the same id, since nobody knew of that.

    Nothing is promised of what became of them in between.
    """
    times: dict[str, list[Operation]] = {}
    for operation in History(events).of("schedule"):
        for id in _made(operation):
            times.setdefault(id, []).append(operation)
    return {id for id, taken in times.items() if len(taken) > 1 and all(map(gap.may_undo, taken[:-1]))}


def _made(operation: Operation) -> Iterator[str]:
    asked = operation.asked
    if isinstance(asked, EnqueueAsked):
        yield from (job.id for job in asked.jobs)
    elif isinstance(asked, EnqueueWorkflowAsked):
        yield asked.workflow.id
    elif isinstance(asked, ScheduleAsked) and operation.ok:
        stored = set(operation.told.stored)
        yield from (job.id for change in asked.changes if change.schedule in stored for job in change.jobs)


def check_refused(events: Sequence[Event], gap: Gap) -> None:
    """What was claimed in the gap cannot be finished after it: the store has never heard of that claim."""
    history = History(events)
    undone = {job.token for one in history.of("claim") if one.ok and gap.surely_undoes(one) for job in one.told.jobs}
    for finish in history.of("finish"):
        if not finish.ok or finish.begun <= gap.return_ended:
            continue
        sent = {end.token for end in (*finish.asked.completed, *finish.asked.unfinished)}
        taken = (sent & undone) - set(finish.told.lost)
        if taken:
            raise Broken(f"{finish.process} finished token {min(taken)}, of a claim that was taken back")
