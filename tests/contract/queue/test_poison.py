"""One row that somebody has spoilt by hand never stops the others: claims and duties get past it, loudly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
import pytest

from penstock.coordinator.duties.start_timeout import StartTimeout
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import Tenant
from penstock.store import contract as p
from penstock.store.sql import faults
from tests.contract.conftest import Hand
from tests.contract.engines import Engine
from tests.contract.world import World

FAR = 2**63 - 1
MINUTE = 60.0

Told = Callable[[], str]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    caplog.set_level(logging.WARNING, "penstock.store")
    faults.tell_unreadable_worker.cache_clear()
    faults.tell_unreadable_needs.cache_clear()
    return lambda: caplog.text


def most(engine: Engine) -> int:
    """The largest number that the engine keeps as an attempt."""
    return FAR if engine.kind == "sqlite" else 2**31 - 1


def run_all(world: World, session: int, rounds: int = 12, limit: int = 3) -> list[str]:
    """Claim and complete until nothing comes, as a worker in burst mode does; which ran."""
    ran: list[str] = []
    for _ in range(rounds):
        claims = world.claim(session, limit)
        if not claims:
            break
        world.start(*claims)
        assert world.complete(*claims) == []
        ran += [claim.id for claim in claims]
    return ran


# Jobs that wait

ENDED = (
    "INSERT INTO penstock.outcome (KEY, state, attempt, finished_at) "
    "SELECT KEY, 3, 1, 1 FROM penstock.job WHERE id = '{id}'"
)
JOBS = {
    "attempt": "UPDATE penstock.job SET attempt = {most} WHERE id = '{id}'",
    "negative attempt": "UPDATE penstock.job SET attempt = -{most} WHERE id = '{id}'",
    "crashes": "UPDATE penstock.job SET crashes = {most} WHERE id = '{id}'",
    "lane": "UPDATE penstock.job SET lane = 999 WHERE id = '{id}'",
    "lane of others": "UPDATE penstock.job SET lane = (SELECT lane FROM penstock.lane WHERE type = 'other') "
    "WHERE id = '{id}'",
    "sooner": "UPDATE penstock.job SET due_at = due_at - 1000 WHERE id = '{id}'",
    "later": "UPDATE penstock.job SET due_at = due_at + 1000 WHERE id = '{id}'",
    "never": f"UPDATE penstock.job SET due_at = {FAR} WHERE id = '{{id}}'",
    "no job": "DELETE FROM penstock.job WHERE id = '{id}'",
    "limits": "UPDATE penstock.job SET gates = '[1]' WHERE id = '{id}'",
    "under way": "INSERT INTO penstock.lease (token, KEY, attempt, session, claimed_at) "
    "SELECT 1, KEY, 1, 12345, 1 FROM penstock.job WHERE id = '{id}'",
    "ended": ENDED,
}
SILENT = {"attempt", "negative attempt", "crashes"}
"""Nothing is wrong with these but the number, which is as it is."""


@pytest.mark.parametrize("tenant", [None, Tenant("a")], ids=["", "tenant"])
@pytest.mark.parametrize("what", JOBS)
def test_what_waits_behind_a_spoilt_job_is_run(
    engine: Engine, world: World, session: int, hand: Hand, told: Told, what: str, tenant: Tenant | None
) -> None:
    world.add(type="other", delay=3600.0)
    bad = world.add(tenant=tenant)
    good = world.add_many(7, tenant=tenant)
    hand(JOBS[what].format(id=bad, most=most(engine)))
    ran = run_all(world, session)
    assert [one for one in ran if one != bad] == good
    assert ran.count(bad) <= 1
    if what == "ended":
        assert world.state(bad) is State.CANCELLED
    if what not in SILENT and engine.kind == "sqlite":
        assert bad in told() or (what == "no job" and "number" in told())


def test_lane_with_a_spoilt_head_goes_on_though_claims_find_enough_elsewhere(
    world: World, session: int, hand: Hand, told: Told
) -> None:
    world.add_many(3, type="busy")
    bad, good = world.add(priority=5), world.add(priority=5)
    hand(f"DELETE FROM penstock.job WHERE id = '{bad}'")
    first = world.claim(session, 1)
    world.store.tend_gates(p.TendGates()).wait()
    second = world.claim(session, 1)
    assert good in [claim.id for claim in first + second]
    assert "does not exist" in told() or "do not exist" in told()


@pytest.mark.parametrize("event", [Event.BACK_OFF, Event.RELEASE, Event.SNOOZE])
@pytest.mark.parametrize("column", ["attempt", "crashes"])
def test_attempt_with_a_number_that_cannot_grow_ends_with_the_others(
    engine: Engine, world: World, session: int, hand: Hand, column: str, event: Event
) -> None:
    bad, good = world.add(), world.add()
    hand(f"UPDATE penstock.job SET {column} = {most(engine)} WHERE id = '{bad}'")
    claims = world.claim(session)
    endings = [p.Unfinished(token=claim.token, event=event, crash=event is Event.BACK_OFF) for claim in claims]
    assert world.store.finish_jobs(p.FinishJobs(unfinished=endings)).wait().lost == []
    assert [world.state(one) for one in (bad, good)] == [State.PENDING, State.PENDING]
    assert len(world.claim(session)) == 2


WAYS: dict[str, Callable[[World, list[p.Claim]], object]] = {
    "completed": lambda world, claims: world.complete(*claims),
    "completed and removed": lambda world, claims: world.complete(*claims, keep=False),
    "failed": lambda world, claims: end_all(world, claims, Event.FAIL),
    "retried": lambda world, claims: end_all(world, claims, Event.BACK_OFF),
    "released": lambda world, claims: end_all(world, claims, Event.RELEASE),
    "cancelled": lambda world, claims: [world.cancel(claim.id) for claim in claims] and world.complete(*claims),
    "lost": lambda world, claims: recover_later(world),
}


def recover_later(world: World) -> None:
    world.clock.advance(10 * MINUTE)
    world.recover()


def end_all(world: World, claims: list[p.Claim], event: Event) -> None:
    endings = [p.Unfinished(token=claim.token, event=event) for claim in claims]
    assert world.store.finish_jobs(p.FinishJobs(unfinished=endings)).wait().lost == []


@pytest.mark.parametrize("way", WAYS)
def test_whatever_ends_beside_a_job_that_had_an_end_already_ends(
    world: World, session: int, hand: Hand, way: str
) -> None:
    bad, *good = world.add_many(3)
    claims = world.claim(session)
    world.start(*claims)
    hand(ENDED.format(id=bad))
    WAYS[way](world, claims)
    assert sorted(world.complete(*claims)) == sorted(claim.token for claim in claims)
    first, *others = [found and found.state for found in (world.find(one) for one in (bad, *good))]
    assert first is (None if way == "completed and removed" else State.CANCELLED)
    assert others[0] is others[1]
    assert others[0] not in (State.CLAIMED, State.RUNNING)


def test_jobs_of_a_lost_worker_are_taken_back_whatever_their_numbers_are(
    engine: Engine, world: World, session: int, hand: Hand
) -> None:
    bad, good = world.add(), world.add()
    hand(f"UPDATE penstock.job SET attempt = {most(engine)}, crashes = {most(engine)} WHERE id = '{bad}'")
    assert len(world.claim(session)) == 2
    world.clock.advance(10 * MINUTE)
    world.recover()
    assert (world.state(bad), world.state(good)) == (State.DEAD, State.SCHEDULED)


def test_job_that_cannot_be_read_ends_dead_at_once(world: World, session: int, hand: Hand, told: Told) -> None:
    bad, good = world.add(), world.add()
    hand(f"UPDATE penstock.job SET gates = '[1]' WHERE id = '{bad}'")
    assert [claim.id for claim in world.claim(session)] == [good]
    job = world.read(bad)
    assert job.state is State.DEAD
    assert "cannot be read" in str(job.reason)
    assert bad in told()


def test_ageing_gets_past_a_due_time_that_cannot_be(world: World, session: int, hand: Hand) -> None:
    bad, good = world.add(), world.add()
    for table in ("job", "waiting" if "postgres" in type(world.store).__module__ else "ready"):
        key = f"KEY = (SELECT KEY FROM penstock.job WHERE id = '{bad}')"
        hand(f"UPDATE penstock.{table} SET due_at = -{FAR} WHERE {key}")
    world.clock.advance(10 * MINUTE)
    assert world.store.age_jobs(p.AgeJobs(60.0)).wait().jobs == 2
    assert world.read(good).priority > 0


@pytest.mark.parametrize("what", ["lane = 999", "error = 'garbage'", f"created_at = {FAR}"])
def test_start_check_gets_past_a_claim_that_cannot_be_read(world: World, session: int, hand: Hand, what: str) -> None:
    bad, good = world.add(), world.add()
    assert len(world.claim(session)) == 2
    hand(f"UPDATE penstock.job SET {what} WHERE id = '{bad}'")
    world.clock.advance(10 * MINUTE)
    world.heartbeat(session)
    duty = StartTimeout(world.store, CoordinatorSettings())
    assert asyncio.run(duty.has_cause())
    assert set(world.store.give_back_jobs(p.GiveBackJobs(MINUTE)).wait().waiting) == {bad, good}
    assert good in [claim.id for claim in world.claim(session)]


# Lanes and what is scheduled


def test_lane_that_cannot_be_read_holds_up_no_other(world: World, session: int, hand: Hand, told: Told) -> None:
    bad, good = world.add(type="bad"), world.add()
    hand("UPDATE penstock.lane SET resources = 'garbage' WHERE type = 'bad'")
    fresh = world.register("fresh")
    assert [claim.id for claim in world.claim(fresh, types=("task", "bad"))] == [good]
    assert "'garbage'" in told()
    assert world.store.list_workers().wait() != []
    assert bad


def test_scheduled_job_that_is_elsewhere_too_holds_up_no_promotion(
    engine: Engine, world: World, session: int, hand: Hand
) -> None:
    bad, later = world.add(), world.add(delay=30.0)
    if engine.kind == "sqlite":  # PostgreSQL has one table for both.
        hand(f"INSERT INTO penstock.scheduled (due_at, seq) SELECT due_at, seq FROM penstock.job WHERE id = '{bad}'")
    world.clock.advance(MINUTE)
    assert sorted(run_all(world, session)) == sorted([bad, later])


# Gates

AT_ONCE = Gate("key:a", 1, None, "key:a")
OTHER = Gate("key:b", 1, None, "key:b")
AN_HOUR = Gate("rate:a", 1, 3600 * MICROSECONDS, "rate:a")


def add_gated(world: World, gate: Gate, count: int) -> list[str]:
    one = world.new_job()
    jobs = [msgspec.structs.replace(one, id=world.new_id(), gates=(gate,)) for _ in range(count)]
    return [new.id for new in world.enqueue(*jobs)]


def to_line(engine: Engine, job_id: str) -> str:
    """A statement: this job may be claimed."""
    lite = engine.kind == "sqlite"
    table, columns = ("ready", "lane, priority, due_at, seq") if lite else ("waiting", "lane, due_at, id")
    return f"INSERT INTO penstock.{table} ({columns}) SELECT {columns} FROM penstock.job WHERE id = '{job_id}'"


@pytest.mark.parametrize("first", [AT_ONCE, AN_HOUR], ids=["at once", "rate"])
@pytest.mark.parametrize("second", [OTHER, AN_HOUR], ids=["at once", "rate"])
def test_new_gate_never_gets_the_number_of_one_whose_jobs_are_parked(
    world: World, session: int, hand: Hand, first: Gate, second: Gate
) -> None:
    waiting = add_gated(world, first, 3)
    (held,) = world.claim(session)
    hand("DELETE FROM penstock.gate")
    second = msgspec.structs.replace(second, name=second.name + ":new")
    new = add_gated(world, second, 2)
    (claim,) = world.claim(session)
    assert claim.id == new[0]
    world.complete(held)
    done = [held.id]
    for _ in range(2):
        world.store.tend_gates(p.TendGates()).wait()
        world.clock.advance(3600)
        claims = [one for one in world.claim(session) if one.id in waiting]
        assert len(claims) == 1
        world.complete(*claims)
        done += [one.id for one in claims]
    assert done == waiting


def test_parked_entry_without_a_job_goes_with_a_word(world: World, session: int, hand: Hand, told: Told) -> None:
    jobs = add_gated(world, AT_ONCE, 3)
    (held,) = world.claim(session)
    hand(f"DELETE FROM penstock.job WHERE id = '{jobs[1]}'")
    world.complete(held)
    assert [claim.id for claim in world.claim(session) + world.claim(session)] == [jobs[2]]
    assert "does not exist" in told()


def test_parked_job_that_waits_too_holds_up_no_gate(
    world: World, session: int, hand: Hand, engine: Engine, told: Told
) -> None:
    jobs = add_gated(world, AT_ONCE, 3)
    (held,) = world.claim(session)
    hand(to_line(engine, jobs[1]))
    world.complete(held)
    ran = []
    for _ in range(4):
        claims = world.claim(session)
        world.complete(*claims)
        ran += [claim.id for claim in claims]
    assert set(ran) == set(jobs[1:])
    assert engine.kind == "postgresql" or jobs[1] in told()


@pytest.mark.parametrize("policy", ["garbage", "[]", '{"l":"x"}', '{"l":1e300}'])
def test_policy_that_cannot_be_read_holds_up_no_gate(
    engine: Engine, world: World, session: int, hand: Hand, policy: str
) -> None:
    """One that has to be parked again by its claim."""
    first, bad = add_gated(world, AT_ONCE, 2)
    good = add_gated(world, OTHER, 1) + world.add_many(2)
    hand(f"UPDATE penstock.job SET policy = '{policy}' WHERE id = '{bad}'")
    hand(to_line(engine, bad))
    hand("DELETE FROM penstock.parked")
    claims = world.claim(session)
    assert sorted(claim.id for claim in claims) == sorted([first, *good])
    world.complete(*claims)
    assert run_all(world, session) in ([], [bad])
    assert world.state(bad) in (State.COMPLETED, State.DEAD)


# Workers

WORKERS = {
    "types": "UPDATE penstock.worker SET types = 'garbage' WHERE id = 'bad'",
    "queues": "UPDATE penstock.worker SET queues = '{{' WHERE id = 'bad'",
    "capabilities": "UPDATE penstock.worker SET capabilities = '7' WHERE id = 'bad'",
    "resources": "UPDATE penstock.worker SET resources = '[1]' WHERE id = 'bad'",
    "status": "UPDATE penstock.worker SET status = 'garbage' WHERE id = 'bad'",
    "heartbeat": f"UPDATE penstock.worker SET heartbeat_at = -{FAR} WHERE id = 'bad'",
}


@pytest.mark.parametrize("what", WORKERS)
def test_worker_that_cannot_be_read_is_shown_and_holds_up_nobody(
    world: World, session: int, hand: Hand, told: Told, what: str
) -> None:
    bad = world.register("bad", types=("task",))
    held = world.add()
    assert [claim.id for claim in world.claim(bad)] == [held]
    hand(WORKERS[what])
    for _ in range(3):
        shown = {one.id: one for one in world.store.list_workers().wait()}
    assert set(shown) == {"worker", "bad"}
    assert shown["bad"].jobs == 1
    if what != "heartbeat":
        assert told().count("the row of the worker 'bad'") == 1
        assert shown["bad"].coordinates or shown["bad"].status == "inactive"
    dead = world.enqueue(msgspec.structs.replace(world.new_job(type="nobody", no_worker="fail")))[0]
    assert dead.created
    world.pause("queue", "default")
    world.resume("queue", "default")
    if what != "status":
        world.clock.advance(MINUTE)
        world.heartbeat(session)
        assert world.recover().workers == ["bad"]
        assert world.state(held) is State.SCHEDULED
    assert world.register("new") > bad
