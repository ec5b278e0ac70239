"""Leasing: who gets which jobs, in which order, fenced by tokens that only grow."""

from __future__ import annotations

import itertools
import threading

import pytest

from penstock.domain.errors import PenstockError, WorkerRefused
from penstock.domain.job import Event, State
from penstock.domain.options import Resources, Tenant
from penstock.store.contract import ClaimJobs, NewJob
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, policy_text


def test_a_claim_carries_what_the_attempt_needs(world: World, session: int) -> None:
    parent = world.new_id()
    job_id = world.add(
        type="mail", payload='{"a":1}', queue="q", priority=3, policy=policy_text(attempts=7), tenant=Tenant("acme"),
        tags=("x",), parent=parent,
    )  # fmt: skip
    now = world.clock.now_us()
    claimed = world.store.claim_jobs(ClaimJobs(session, 10)).wait()
    (claim,) = claimed.jobs
    assert (claim.id, claim.type, claim.queue, claim.payload) == (job_id, "mail", "q", '{"a":1}')
    assert (claim.attempt, claim.crashes, claim.policy) == (1, 0, policy_text(attempts=7))
    assert (claim.priority, claim.created_at, claim.due_at) == (3, now, now)
    assert (claim.tenant, claim.tags, claim.parent) == (Tenant("acme"), ("x",), parent)
    assert (claimed.claimed_at, claimed.next_due_at) == (now, None)
    job = world.read(job_id)
    assert (job.state, job.worker_id, job.attempt) == (State.CLAIMED, "worker", 1)


def test_at_most_limit(world: World, session: int) -> None:
    ids = world.add_many(5)
    assert [claim.id for claim in world.claim(session, 2)] == ids[:2]
    assert [claim.id for claim in world.claim(session, 10)] == ids[2:]
    assert world.claim(session, 10) == []


def test_the_next_moment_is_told(world: World, session: int) -> None:
    world.add(delay=50.0)
    world.add(delay=20.0)
    now = world.clock.now_us()
    assert world.store.claim_jobs(ClaimJobs(session, 10)).wait().next_due_at == now + 20_000_000
    world.clock.advance(20)
    claimed = world.store.claim_jobs(ClaimJobs(session, 10)).wait()
    assert (len(claimed.jobs), claimed.next_due_at) == (1, now + 50_000_000)


# Order


def test_priority_then_due_time_then_age(world: World, session: int) -> None:
    late = world.add(at=world.clock.now_us() - 1)
    early = world.add(at=world.clock.now_us() - 2)
    first, second = world.add_many(2)
    low, high = world.add(priority=-1), world.add(priority=1)
    assert [claim.id for claim in world.claim(session)] == [high, early, late, first, second, low]


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_order_holds_across_types_queues_and_batches(world: World, session: int, batch: int) -> None:
    now = world.clock.now_us()
    jobs = [
        world.new_job(type=f"type{n % 30}", queue=f"queue{n % 7}", priority=(n * 37) % 11 - 5, at=now - (n * 53) % 17)
        for n in range(300)
    ]
    world.enqueue(*jobs[:150])
    world.enqueue(*jobs[150:])

    def place(job: NewJob) -> tuple[int, int, str]:
        assert job.spec.at is not None
        return -job.spec.priority, job.spec.at, job.id

    taken = list(itertools.chain.from_iterable(iter(lambda: world.claim(session, batch), [])))
    assert [claim.id for claim in taken] == [job.id for job in sorted(jobs, key=place)]
    assert [claim.token for claim in taken] == sorted({claim.token for claim in taken})


def test_a_thousand_and_more_in_one_claim(world: World, session: int) -> None:
    ids = world.add_many(1500)
    claims = world.claim(session, 1500)
    assert [claim.id for claim in claims] == ids
    assert world.start(*claims) == []
    assert world.complete(*claims) == []
    (count,) = world.store.count_jobs().wait()
    assert (count.state, count.jobs) == (State.COMPLETED, 1500)


def test_many_jobs_that_become_due_at_once_are_all_found(world: World, session: int) -> None:
    ids = world.add_many(4500, delay=5.0)
    world.clock.advance(5)
    taken: list[str] = []
    for _ in range(10):
        taken += [claim.id for claim in world.claim(session, 1000)]
    assert taken == ids


def test_a_returned_job_waits_for_its_new_turn(world: World, session: int) -> None:
    first, second = world.add_many(2)
    world.clock.advance(1)
    world.end(world.claim_one(session), Event.BACK_OFF)
    assert [claim.id for claim in world.claim(session)] == [second, first]


# Routing


def test_only_the_types_and_queues_asked_for(world: World, session: int) -> None:
    ids = {(t, q): world.add(type=t, queue=q) for t in "ab" for q in "xy"}
    assert [claim.id for claim in world.claim(session, types=("a",), queues=("y",))] == [ids["a", "y"]]
    assert [claim.id for claim in world.claim(session, types=("a", "unknown"))] == [ids["a", "x"]]
    assert [claim.id for claim in world.claim(session, queues=("y",))] == [ids["b", "y"]]
    assert world.claim(session, types=()) == []
    assert world.claim(session, queues=()) == []
    assert [claim.id for claim in world.claim(session)] == [ids["b", "x"]]


def test_only_what_the_worker_is_capable_of(world: World, session: int) -> None:
    general, media, ml = world.add(), world.add(capability="media"), world.add(capability="ml")
    assert [claim.id for claim in world.claim(session)] == [general]
    assert [claim.id for claim in world.claim(session, capabilities=("media",))] == [media]
    world.add()
    assert [claim.id for claim in world.claim(session, capabilities=("ml",))] == [ml]


@pytest.mark.parametrize("short", [Resources(3, "8Gi", 1), Resources(4, "7Gi", 1), Resources(4, "8Gi", 0), None])
def test_only_what_fits_the_workers_resources(world: World, session: int, short: Resources | None) -> None:
    heavy, light = world.add(resources=Resources(4, "8Gi", 1), priority=1), world.add()
    assert [claim.id for claim in world.claim(session, resources=short)] == [light]
    assert [claim.id for claim in world.claim(session, resources=Resources(4, "8Gi", 1))] == [heavy]


def test_a_route_that_another_process_made_is_found(world: World, open_again: OpenAgain, session: int) -> None:
    assert world.claim(session) == []
    job_id = open_again().add(type="made elsewhere", queue="new")
    assert [claim.id for claim in world.claim(session)] == [job_id]


def test_many_kinds_of_claims_stay_right(world: World, session: int) -> None:
    for n in range(150):
        job_id = world.add(type=f"t{n}")
        assert [claim.id for claim in world.claim(session, types=(f"t{n}",))] == [job_id]


# Leases and tokens


def test_no_two_leases_hold_one_job(world: World, open_again: OpenAgain) -> None:
    ids = world.add_many(400)
    taken: list[str] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        mine = open_again()
        session = mine.register(f"worker{number}")
        start.wait(10)
        while claims := mine.claim(session, 7):
            taken.extend(claim.id for claim in claims)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(ids)


def test_every_lease_has_a_larger_token_than_all_before_it(world: World, open_again: OpenAgain, session: int) -> None:
    other = open_again()
    other_session = other.register("other")
    world.add_many(6)
    tokens: list[int] = []
    for round_number in range(12):
        who, me = (world, session) if round_number % 2 else (other, other_session)
        claims = who.claim(me, 2)
        tokens += [claim.token for claim in claims]
        for claim in claims:
            who.end(claim, Event.RELEASE)
    assert len(tokens) == 24
    assert tokens == sorted(set(tokens))


def test_tokens_grow_past_jobs_that_are_gone(world: World, session: int) -> None:
    world.add()
    first = world.claim_one(session)
    world.complete(first, keep=False)
    world.add()
    assert world.claim_one(session).token > first.token


# Attempts


def test_the_attempt_is_counted_at_the_claim(world: World, session: int) -> None:
    job_id = world.add()
    for attempt in (1, 2, 3):
        claim = world.claim_one(session)
        assert (claim.attempt, world.read(job_id).attempt) == (attempt, attempt)
        world.end(claim, Event.BACK_OFF)


# Time-to-live


def test_a_job_that_waited_too_long_expires_instead(world: World, session: int) -> None:
    job_id, other = world.add(ttl=10.0), world.add()
    world.clock.advance(10.001)
    assert [claim.id for claim in world.claim(session)] == [other]
    job = world.read(job_id)
    assert (job.state, job.decided_by, job.attempt) == (State.EXPIRED, "ttl", 0)
    assert job.finished_at is not None
    assert "time-to-live" in (job.reason or "")


def test_a_job_claimed_in_time_does_not_expire(world: World, session: int) -> None:
    job_id = world.add(ttl=10.0)
    world.clock.advance(9.9)
    claim = world.claim_one(session)
    world.clock.advance(100)
    assert world.claim(session) == []
    assert world.state(job_id) is State.CLAIMED
    world.end(claim, Event.BACK_OFF)
    assert [claim.id for claim in world.claim(session)] == [job_id]


def test_a_job_that_was_released_has_been_claimed_and_does_not_expire(world: World, session: int) -> None:
    job_id = world.add(ttl=10.0)
    world.clock.advance(1)
    world.end(world.claim_one(session), Event.RELEASE)
    world.clock.advance(100)
    assert [claim.id for claim in world.claim(session)] == [job_id]
    assert world.state(job_id) is State.CLAIMED


def test_the_time_to_live_counts_from_the_due_moment(world: World, session: int) -> None:
    job_id = world.add(ttl=10.0, delay=100.0)
    world.clock.advance(105)
    assert [claim.id for claim in world.claim(session)] == [job_id]


def test_a_removed_job_leaves_no_time_to_live_to_others(world: World, session: int) -> None:
    world.add(ttl=10.0)
    world.complete(world.claim_one(session), keep=False)
    job_id = world.add()
    world.clock.advance(11)
    assert [claim.id for claim in world.claim(session)] == [job_id]


def test_many_expire_at_once(world: World, session: int) -> None:
    world.add_many(3000, ttl=1.0, delay=1.0)
    world.clock.advance(60)
    assert [world.claim(session, 5000) for _ in range(3)] == [[], [], []]
    assert {(count.state, count.jobs) for count in world.store.count_jobs().wait()} == {(State.EXPIRED, 3000)}


# Who may claim


def test_a_worker_that_is_not_registered_is_refused(world: World) -> None:
    world.add()
    with pytest.raises(WorkerRefused, match="not registered"):
        world.claim(12345)


def test_a_lost_worker_is_refused(world: World, session: int) -> None:
    world.add()
    world.clock.advance(31)
    assert world.recover().workers == ["worker"]
    with pytest.raises(WorkerRefused, match="lost"):
        world.claim(session)


def test_a_worker_that_stopped_is_refused(world: World, session: int) -> None:
    assert world.heartbeat(session, "inactive")
    with pytest.raises(WorkerRefused, match="inactive"):
        world.claim(session)


# A text that is not JSON


def test_a_payload_that_is_not_json_harms_nobody(world: World, session: int) -> None:
    broken = ["", "{", "not json", '{"a":1}}', "]", "NaN"]
    ids = [world.add(payload=text) for text in broken]
    good = world.add(payload='{"fine":true}')
    claims = world.claim(session)
    assert [(claim.id, claim.payload) for claim in claims] == [*zip(ids, broken, strict=True), (good, '{"fine":true}')]
    jobs = {job_id: world.read(job_id) for job_id in world.list_ids()}
    assert jobs[good].payload == {"fine": True}
    assert jobs[ids[2]].payload == "not json"
    world.clock.advance(31)
    assert sorted(world.recover().jobs) == sorted([*ids, good])


def test_a_text_with_a_nul_character_is_stored_whole_or_refused(world: World, session: int) -> None:
    stored = []
    try:
        stored = [world.add(payload="\x00", tags=("a\x00b",))]
    except PenstockError:
        pass
    after = world.add()
    assert [(claim.id, claim.payload) for claim in world.claim(session)] == [
        *((one, "\x00") for one in stored),
        (after, "{}"),
    ]


def test_the_order_holds_over_very_many_types(world: World, open_again: OpenAgain, session: int) -> None:
    """More lanes than one look takes in, each of them with jobs before and after those of the others."""
    other = open_again()
    rival = other.register("rival")
    ids = []
    for _ in range(3):
        ids += [world.add(type=f"type{number:02}", priority=number % 2) for number in range(90)]
        world.clock.advance(1)
    expected = [*ids[1::2], *ids[::2]]
    got = []
    for limit in (1, 3, 40, 100, 126):
        got += [claim.id for claim in world.claim(session, limit)]
        if limit == 40:
            got += [claim.id for claim in other.claim(rival, 30)]  # What the first handle knows has aged by now.
    got += [claim.id for claim in world.claim(session, 500)]
    assert got == expected


@pytest.mark.parametrize("limit", [24, 60, 300])
def test_a_type_that_has_most_of_the_jobs_gives_them_in_their_turn(world: World, session: int, limit: int) -> None:
    """More of one type are among the first than its share of a claim that looks into many types."""
    ids = []
    for number in range(120):
        world.clock.advance(1)
        ids.append(world.add(type=f"type{number % 12}" if number % 5 == 0 else "often"))
    got = list(itertools.chain.from_iterable(iter(lambda: [one.id for one in world.claim(session, limit)], [])))
    assert got == ids
