"""A job that its handler puts off: it waits, no attempt is spent, and how often is counted (J11)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import Unique
from penstock.store import contract as p
from tests.contract.world import World, policy_text

LINE = Gate("key:line", 1, None, "key:line", True)
KEY = Gate("key:shop", 1, None, "key:shop")
API = Gate("rate:api", 1, 60 * MICROSECONDS, "rate:api")


def add(world: World, *gates: Gate, **fields: object) -> str:
    return world.enqueue(msgspec.structs.replace(world.new_job(**fields), gates=gates))[0].id


def snooze(world: World, claim: p.Claim, delay: float = 10.0, **fields: Any) -> list[int]:
    return world.end(claim, Event.SNOOZE, delay=delay, started_at=world.clock.now_us(), **fields)


def test_it_waits_with_the_attempt_not_spent_and_the_snooze_counted(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    assert (claim.attempt, claim.snoozes) == (1, 0)
    assert snooze(world, claim, reason="snoozed until noon (1 of 100)") == []
    job = world.read(job_id)
    assert (job.state, job.attempt, job.snoozes, job.error) == (State.SCHEDULED, 0, 1, None)
    assert job.due_at == from_us(world.clock.now_us() + 10 * MICROSECONDS)
    [step] = world.store.read_history(job_id).wait()
    assert (step.event, step.attempt, step.reason) == (Event.SNOOZE, 1, "snoozed until noon (1 of 100)")
    assert world.claim(session) == []
    world.clock.advance(10.0)
    again = world.claim_one(session)
    assert (again.id, again.attempt, again.snoozes) == (job_id, 1, 1)


def test_each_is_counted_and_nothing_else_is(world: World, session: int) -> None:
    job_id = world.add(policy=policy_text(attempts=9))
    for event in (Event.SNOOZE, Event.RELEASE, Event.SNOOZE, Event.BACK_OFF, Event.SNOOZE):
        world.end(world.claim_one(session), event, started_at=world.clock.now_us())
    claim = world.claim_one(session)
    assert (claim.attempt, claim.snoozes) == (2, 3)
    world.complete(claim)
    job = world.read(job_id)
    assert (job.state, job.attempt, job.snoozes) == (State.COMPLETED, 2, 3)


def test_only_that_job_is_told_of_its_snoozes(world: World, session: int) -> None:
    one, other = world.add_many(2)
    snooze(world, world.claim_one(session), 0.0)
    assert {claim.id: claim.snoozes for claim in world.claim(session)} == {one: 1, other: 0}


def test_many_in_one_call_with_other_outcomes(world: World, session: int) -> None:
    first, second, third, fourth = world.add_many(4)
    claims = world.claim(session)
    ends = [
        p.Unfinished(token=claim.token, event=event, delay=5.0)
        for claim, event in zip(claims, (Event.SNOOZE, Event.BACK_OFF, Event.FAIL, Event.SNOOZE), strict=True)
    ]
    assert world.store.finish_jobs(p.FinishJobs(unfinished=ends)).wait().lost == []
    found = [world.read(job_id) for job_id in (first, second, third, fourth)]
    assert [job.snoozes for job in found] == [1, 0, 0, 1]
    assert [job.attempt for job in found] == [0, 1, 1, 0]


def test_a_lost_token_counts_nothing(world: World, session: int) -> None:
    job_id = world.add()
    old = world.claim_one(session)
    world.end(old, Event.RELEASE)
    claim = world.claim_one(session)
    assert snooze(world, old) == [old.token]
    assert world.read(job_id).snoozes == 0
    assert snooze(world, claim) == []
    assert snooze(world, claim) == [claim.token]
    assert world.read(job_id).snoozes == 1


def test_an_order_to_cancel_wins(world: World, session: int) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    world.cancel(job_id)
    ending = p.Unfinished(token=claim.token, event=Event.SNOOZE, delay=10.0)
    assert world.store.finish_jobs(p.FinishJobs(unfinished=[ending])).wait().cancelled == [claim.token]
    job = world.read(job_id)
    assert (job.state, job.attempt, job.snoozes) == (State.CANCELLED, 1, 0)


def test_it_can_be_cancelled_while_it_waits(world: World, session: int) -> None:
    job_id = world.add()
    snooze(world, world.claim_one(session))
    found = world.cancel(job_id)
    assert (found.before, found.after) == (State.SCHEDULED, State.CANCELLED)
    world.clock.advance(60.0)
    assert world.claim(session) == []


def test_its_time_to_live_was_over_with_the_first_claim(world: World, session: int) -> None:
    job_id = world.add(ttl=5.0)
    snooze(world, world.claim_one(session), 60.0)
    world.clock.advance(30.0)
    assert world.state(job_id) is State.SCHEDULED
    world.clock.advance(40.0)
    assert world.state(job_id) is State.PENDING
    assert world.claim_one(session).id == job_id


def test_it_keeps_its_unique_key(world: World, session: int) -> None:
    job_id = world.add(unique=Unique("key"))
    snooze(world, world.claim_one(session))
    [again] = world.enqueue(world.new_job(unique=Unique("key")))
    assert (again.id, again.created) == (job_id, False)


def test_it_stays_first_of_its_line(world: World, session: int) -> None:
    first, second = add(world, LINE), add(world, LINE)
    snooze(world, world.claim_one(session))
    assert world.claim(session) == []
    world.clock.advance(10.0)
    claim = world.claim_one(session)
    assert claim.id == first
    world.complete(claim)
    assert world.claim_one(session).id == second


def test_it_holds_no_place_under_a_limit_while_it_waits(world: World, session: int) -> None:
    first, second = add(world, KEY), add(world, KEY)
    snooze(world, world.claim_one(session))
    claim = world.claim_one(session)
    assert claim.id == second
    world.clock.advance(10.0)
    assert world.claim(session) == []
    world.complete(claim)
    assert world.claim_one(session).id == first


def test_its_start_counts_under_a_rate_limit(world: World, session: int) -> None:
    """Its handler was called, and may have asked whoever the limit protects."""
    first = add(world, API)
    add(world, API)
    claim = world.claim_one(session)
    assert claim.id == first
    snooze(world, claim)
    assert world.claim(session) == []
    world.clock.advance(61.0)
    assert len(world.claim(session)) == 1


def test_a_lost_worker_and_a_retry_of_a_dead_letter(world: World, session: int) -> None:
    """What was counted stays with the job; a new job begins anew."""
    job_id = world.add(policy=policy_text(attempts=2))
    snooze(world, world.claim_one(session), 0.0)
    claim = world.claim_one(session)
    world.end(claim, Event.FAIL)
    new_id = world.new_id()
    world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(job_id,)), new_ids=[new_id])).wait()
    assert (world.read(job_id).snoozes, world.read(new_id).snoozes) == (1, 0)


@pytest.mark.parametrize("history", ["all", "default", "failures"])
def test_it_is_in_history(world: World, session: int, history: p.History) -> None:
    job_id = world.add()
    snooze(world, world.claim_one(session), 0.0, history=history)
    assert "snooze" in world.events(job_id)
