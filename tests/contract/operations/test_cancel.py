"""Cancelling: at once while a job waits, by asking while it is held, never after its end."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.domain.errors import UnknownJob
from penstock.domain.job import Event, State
from penstock.store.contract import Cancelled
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, plain


@pytest.mark.parametrize(("fields", "before"), [({}, State.PENDING), ({"delay": 5.0}, State.SCHEDULED)])
def test_a_waiting_job_is_cancelled_at_once(world: World, session: int, fields: dict[str, Any], before: State) -> None:
    job_id, other = world.add(**fields), world.add(**fields)
    assert plain(world.cancel(job_id, "alice")) == Cancelled(before, State.CANCELLED)
    job = world.read(job_id)
    assert (job.state, job.decided_by, job.attempt) == (State.CANCELLED, "operator", 0)
    assert job.finished_at is not None
    (step,) = world.store.read_history(job_id).wait()
    assert (step.event, step.reason) == ("cancel", "by alice")
    world.clock.advance(10)
    assert [claim.id for claim in world.claim(session)] == [other]


def test_a_due_job_that_nobody_has_looked_at_is_pending(world: World, session: int) -> None:
    job_id = world.add(delay=5.0)
    world.clock.advance(5)
    assert plain(world.cancel(job_id)) == Cancelled(State.PENDING, State.CANCELLED)
    assert world.claim(session) == []


@pytest.mark.parametrize("started", [False, True])
def test_a_held_job_is_asked_to_stop(world: World, open_again: OpenAgain, session: int, started: bool) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    if started:
        world.start(claim)
    state = State.RUNNING if started else State.CLAIMED
    assert open_again().cancel(job_id) == Cancelled(state, state)
    job = world.read(job_id)
    assert (job.state, job.cancel_requested) == (state, True)
    assert world.cancel(job_id) == Cancelled(state, state)


@pytest.mark.parametrize("event", [Event.BACK_OFF, Event.RELEASE, Event.FAIL, Event.CANCEL])
def test_after_a_cancel_no_new_attempt_starts(world: World, session: int, event: Event) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.cancel(job_id)
    assert world.end(claim, event) == []
    job = world.read(job_id)
    assert (job.state, job.decided_by, job.attempt) == (State.CANCELLED, "operator", 1)
    world.clock.advance(10_000)
    assert world.claim(session) == []


@pytest.mark.parametrize("keep", [True, False, 5])
@pytest.mark.parametrize("history", ["default", "all", "failures"])
def test_a_completion_after_the_cancel_is_ignored(world: World, session: int, keep: bool | int, history: Any) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.cancel(job_id)
    assert world.complete(claim, result='"too late"', keep=keep, history=history) == []
    job = world.read(job_id)
    assert (job.state, job.result, job.decided_by) == (State.CANCELLED, None, "operator")


def test_a_completion_before_the_cancel_stands(world: World, session: int) -> None:
    job_id = world.add()
    world.complete(world.claim_one(session), result='"done"')
    assert world.cancel(job_id) == Cancelled(State.COMPLETED, State.COMPLETED)
    assert world.read(job_id).result == "done"


def test_a_final_job_stays_as_it_is(world: World, session: int) -> None:
    dead = world.add_dead(session)
    expired = world.add(ttl=1.0)
    world.clock.advance(2)
    world.claim(session)
    cancelled = world.add()
    world.cancel(cancelled)
    for job_id, state in ((dead, State.DEAD), (expired, State.EXPIRED), (cancelled, State.CANCELLED)):
        before = world.read(job_id)
        assert world.cancel(job_id) == Cancelled(state, state)
        assert world.read(job_id) == before


def test_an_unknown_id(world: World) -> None:
    with pytest.raises(UnknownJob, match="no job has the id"):
        world.cancel(world.new_id())


def test_a_cancelled_job_frees_its_time_to_live(world: World, session: int) -> None:
    job_id = world.add(ttl=5.0)
    world.cancel(job_id)
    world.clock.advance(10)
    assert world.claim(session) == []
    assert world.state(job_id) is State.CANCELLED
