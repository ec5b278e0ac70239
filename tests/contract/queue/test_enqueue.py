"""Storing jobs: all or nothing, at most one per id, due when they say."""

from __future__ import annotations

import pytest

from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.errors import PenstockError
from penstock.domain.job import State
from penstock.domain.options import Resources, Tenant, Unique
from penstock.store.contract import Enqueued
from tests.contract.conftest import OpenAgain
from tests.contract.world import NOT_STORABLE_AT, World, policy_text

HOSTILE = [
    "'; DROP TABLE jobs; --",
    'say "hi"',
    "späß 💧 \u202e",
    "\\u0000 \\ud800",
    "%s {where} :id ?1 $1",
    "\\",
    "\t\n\r",
]


def test_answers_come_in_the_order_of_the_jobs(world: World) -> None:
    jobs = [world.new_job(type=f"t{n % 3}", priority=n % 5, delay=float(n % 2)) for n in range(20)]
    assert world.enqueue(*jobs) == [Enqueued(job.id, True) for job in jobs]


def test_nothing_to_enqueue_is_fine(world: World) -> None:
    assert world.enqueue() == []


def test_one_bad_job_stores_none_of_the_call(world: World) -> None:
    good, bad = world.new_job(), world.new_job(at=NOT_STORABLE_AT)
    with pytest.raises((PenstockError, OverflowError)):
        world.enqueue(good, bad, world.new_job(type="other"))
    assert world.list_ids() == []
    assert world.enqueue(good) == [Enqueued(good.id, True)]
    assert world.state(good.id) is State.PENDING


def test_every_field_reads_back(world: World) -> None:
    job_id = world.add(
        type="mail", payload='{"to":["a",1,null]}', queue="slow", capability="media", resources=Resources(cpu=2),
        priority=-7, delay=60.0, policy=policy_text(attempts=9), tenant=Tenant("acme", "eu"), tags=("a", "b"),
        unique=Unique("once"), parent=world.new_id(),
    )  # fmt: skip
    job = world.read(job_id)
    assert (job.type, job.payload, job.queue, job.capability) == ("mail", {"to": ["a", 1, None]}, "slow", "media")
    assert (job.priority, job.max_attempts, job.attempt, job.crashes) == (-7, 9, 0, 0)
    assert (job.tenant, job.tags, job.keys) == (Tenant("acme", "eu"), ("a", "b"), ("once",))
    assert job.parent is not None
    now = world.clock.now_us()
    assert (job.created_at, job.due_at) == (from_us(now), from_us(now + 60 * MICROSECONDS))
    assert (job.claimed_at, job.started_at, job.finished_at, job.worker_id) == (None, None, None, None)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_data_whatever_they_hold(world: World, session: int, text: str) -> None:
    payload = f'{{"x":"{text}"}}'
    job = world.new_job(type=text, payload=payload, queue=text, capability=text, tenant=Tenant(text), tags=(text,))
    world.enqueue(job)
    (claim,) = world.claim(session, types=(text,), queues=(text,), capabilities=(text,))
    assert (claim.id, claim.type, claim.queue, claim.payload) == (job.id, text, text, payload)
    assert (claim.tenant, claim.tags) == (Tenant(text), (text,))
    assert world.list_ids(type=text, queue=text, tenant=text, tag=text) == [job.id]


def test_payloads_from_empty_to_large_come_back_byte_for_byte(world: World, session: int) -> None:
    payloads = ["", "{}", '{"x":"' + "ä" * 500_000 + '"}', '"' + "\\u0000" * 3 + '"']
    ids = [world.add(payload=payload) for payload in payloads]
    assert [(claim.id, claim.payload) for claim in world.claim(session)] == list(zip(ids, payloads, strict=True))


# A job whose id is already stored


def test_an_id_that_is_stored_is_not_stored_again(world: World, open_again: OpenAgain) -> None:
    job = world.new_job(payload='{"first":true}')
    world.enqueue(job)
    again = world.new_job(id=job.id, payload='{"first":false}', priority=9)
    fresh = world.new_job()
    assert open_again().enqueue(again, fresh) == [Enqueued(job.id, False), Enqueued(fresh.id, True)]
    assert (world.read(job.id).payload, world.read(job.id).priority) == ({"first": True}, 0)
    assert sorted(world.list_ids()) == sorted([job.id, fresh.id])


def test_an_id_twice_in_one_call_is_one_job(world: World, session: int) -> None:
    job = world.new_job()
    assert world.enqueue(job, job) == [Enqueued(job.id, True), Enqueued(job.id, False)]
    assert [claim.id for claim in world.claim(session)] == [job.id]


def test_sending_again_does_not_revive_a_job_that_has_moved_on(world: World, session: int) -> None:
    job = world.new_job(delay=0.0, ttl=60.0, unique=Unique("key"))
    world.enqueue(job)
    claim = world.claim_one(session)
    assert world.enqueue(job) == [Enqueued(job.id, False)]
    assert world.state(job.id) is State.CLAIMED
    world.complete(claim)
    assert world.enqueue(job) == [Enqueued(job.id, False)]
    assert world.state(job.id) is State.COMPLETED
    assert world.claim(session) == []


# When it is due


@pytest.mark.parametrize("when", ["delay", "at"])
def test_a_job_whose_moment_has_not_come_is_scheduled(world: World, session: int, when: str) -> None:
    due_at = world.clock.now_us() + 10 * MICROSECONDS
    job_id = world.add(**({"delay": 10.0} if when == "delay" else {"at": due_at}))
    assert world.state(job_id) is State.SCHEDULED
    world.clock.advance(9.999)
    assert world.claim(session) == []
    world.clock.advance(0.001)
    assert world.state(job_id) is State.PENDING
    (claim,) = world.claim(session)
    assert (claim.id, claim.due_at) == (job_id, due_at)


def test_a_moment_in_the_past_is_pending_and_keeps_its_place(world: World, session: int) -> None:
    now = world.add()
    past = world.add(at=world.clock.now_us() - MICROSECONDS)
    assert world.state(past) is State.PENDING
    assert [claim.id for claim in world.claim(session)] == [past, now]


def test_thousands_of_jobs_in_one_call(world: World, session: int) -> None:
    ids = world.add_many(6000)
    claimed = [claim.id for claim in world.claim(session, 6001)]
    assert claimed == ids
