"""What the end of attempts means to workflows: which of them are told, and of what."""

from __future__ import annotations

from collections.abc import Container
from operator import attrgetter

from penstock.domain.job import Event, StateCode
from penstock.store import contract as p
from penstock.store.sql.engine import Engine
from penstock.store.sql.steps import Steps
from penstock.store.sql.workflows import advancing
from penstock.store.sql.workflows.rows import Ended

_member = attrgetter("member")


def has_members(finish: p.FinishJobs) -> bool:
    """Asked of every batch, so it is done without a step of the interpreter for each job."""
    return any(map(_member, finish.completed)) or any(map(_member, finish.unfinished))


def members_of(finish: p.FinishJobs) -> list[tuple[int, str]]:
    """The attempts whose jobs belong to a workflow: (token, id)."""
    completed = [(done.token, done.member) for done in finish.completed if done.member is not None]
    return completed + [(end.token, end.member) for end in finish.unfinished if end.member is not None]


def follow(
    engine: Engine, finish: p.FinishJobs, held: Container[int], cancelled: Container[int], members: bool = True
) -> Steps[None]:
    """What is stored because these attempts end: follow-ups, workflows, and what comes next in theirs. `held` and
    `cancelled` are the tokens that are still current, and those of them that a person wants to end.
    """
    yield from engine.enqueue([job for token, job in finish.follow_ups if token in held], news=False)
    for token, workflow in finish.workflows:
        if token in held:
            yield from advancing.add(engine, workflow)
    ended = _ended_of(finish, held, cancelled) if members else []
    if ended:
        yield from advancing.note_ended(engine, ended)


def _ended_of(finish: p.FinishJobs, held: Container[int], cancelled: Container[int]) -> list[Ended]:
    """The members that end with what a worker reports, of those whose tokens are still current: `held`, or `cancelled`
    if a person asked for it, which wins.
    """
    said: list[tuple[int, str | None, int | None, str | None]] = [
        *((done.token, done.member, StateCode.COMPLETED, done.result) for done in finish.completed),
        *((end.token, end.member, _ENDS.get(end.event), None) for end in finish.unfinished),
    ]
    ended: list[Ended] = []
    for token, member, state, result in said:
        if member is not None and token in cancelled:
            ended.append(Ended(member, StateCode.CANCELLED))
        elif member is not None and token in held and state is not None:
            ended.append(Ended(member, state, result))
    return ended


_ENDS = {Event.FAIL: StateCode.DEAD, Event.CANCEL: StateCode.CANCELLED}
