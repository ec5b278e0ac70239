"""What a worker is told when it asks how its own attempts were ended, after a commit of which it heard nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.domain.job import Event
from penstock.store import contract as p
from tests.contract.world import STALE_AFTER, World, error_text, policy_text

ENDINGS = (Event.COMPLETE, Event.FAIL, Event.CANCEL, Event.BACK_OFF, Event.SNOOZE, Event.RELEASE)


def asked(world: World, session: int, *attempts: tuple[str, int]) -> list[Event | None]:
    return world.store.ended_attempts(p.EndedAttempts(session, attempts)).wait()


def end(world: World, claim: p.Claim, event: Event, **fields: Any) -> None:
    assert (world.complete(claim) if event is Event.COMPLETE else world.end(claim, event, **fields)) == []


@pytest.mark.parametrize("event", ENDINGS)
def test_an_attempt_is_known_by_its_end(world: World, session: int, event: Event) -> None:
    ids = world.add_many(2)
    first, _ = world.claim(session)
    assert asked(world, session, (first.id, 1)) == [None], "it has not ended"
    end(world, first, event)
    assert asked(world, session, (ids[1], 1), (first.id, 1), (first.id, 2), (world.new_id(), 1)) == [
        None, event, None, None,
    ]  # fmt: skip
    assert asked(world, world.register("other"), (first.id, 1)) == [None], "it was not that one's"


@pytest.mark.parametrize("event", ENDINGS)
def test_a_cancel_that_was_asked_for_is_told_whatever_the_worker_said(world: World, session: int, event: Event) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.cancel(job_id)
    end(world, claim, event)
    assert asked(world, session, (job_id, 1)) == [Event.CANCEL]


def test_attempts_are_told_apart(world: World, session: int) -> None:
    job_id = world.add()
    for _ in range(2):
        end(world, world.claim_one(session), Event.BACK_OFF)
    end(world, world.claim_one(session), Event.COMPLETE)
    numbered = [(job_id, number) for number in (3, 2, 1)]
    assert asked(world, session, *numbered) == [Event.COMPLETE, Event.BACK_OFF, Event.BACK_OFF]


def stale(world: World, session: int) -> None:
    world.clock.advance(STALE_AFTER + 1)
    assert world.recover().jobs


def given_back(world: World, session: int) -> None:
    world.clock.advance(STALE_AFTER)
    world.heartbeat(session)
    given = world.store.give_back_jobs(p.GiveBackJobs(STALE_AFTER, times_max=0)).wait()
    assert given.dead


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("take", [stale, given_back])
def test_what_others_have_ended_is_nobodys(
    world: World, session: int, attempts: int, take: Callable[[World, int], None]
) -> None:
    """Gone back to wait, or dead."""
    job_id = world.add(policy=policy_text(attempts=attempts))
    world.claim_one(session)
    take(world, session)
    assert asked(world, session, (job_id, 1)) == [None]


def test_where_nothing_is_stored_nothing_is_told(world: World, session: int) -> None:
    removed, silent, dead = world.add_many(3)
    claims = {claim.id: claim for claim in world.claim(session)}
    assert world.complete(claims[removed], keep=False) == []
    assert world.end(claims[silent], Event.BACK_OFF, history="none") == []
    assert world.end(claims[dead], Event.FAIL, history="none", error=error_text("x")) == []
    assert asked(world, session, (removed, 1), (silent, 1), (dead, 1)) == [None, None, Event.FAIL]
