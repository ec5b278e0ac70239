"""Rows that somebody has changed by hand: what waits goes on by itself, loudly, and the doctor names what it finds."""

from __future__ import annotations

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.gates import Gate
from penstock.store import params as p
from penstock.store.faults import FAULTS
from tests.contract.conftest import Hand
from tests.contract.engines import Engine
from tests.contract.world import World

AT_ONCE = Gate("key:a", 1, None, "key:a")
IN_ORDER = Gate("key:a", 1, None, "key:a", ordered=True)
A_MINUTE = Gate("rate:a", 1, 60 * MICROSECONDS, "rate:a")
WIDE = Gate("key:wide", 9, None, "key:wide")


def add(world: World, *gates: Gate, count: int) -> list[str]:
    one = world.new_job()
    jobs = [msgspec.structs.replace(one, id=world.new_id(), gates=gates) for _ in range(count)]
    return [new.id for new in world.enqueue(*jobs)]


def tend(world: World) -> None:
    world.store.tend_gates(p.TendGates()).wait()


def faults(world: World) -> list[p.Finding]:
    """What the doctor says that is not well."""
    found = world.store.check_store(p.CheckStore(deep=True)).wait()
    return [one for one in found if one.name in ("integrity", "jobs") and one.level != "ok"]


# A gate that is gone


@pytest.mark.parametrize(
    "gates",
    [(AT_ONCE,), (IN_ORDER,), (A_MINUTE,), (WIDE, AT_ONCE), (AT_ONCE, A_MINUTE)],
    ids=["at once", "in order", "rate", "two", "at once and rate"],
)
@pytest.mark.parametrize("running", [True, False])
def test_jobs_before_a_gate_that_is_gone_go_on_one_after_the_other(
    world: World, session: int, hand: Hand, gates: tuple[Gate, ...], running: bool, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = add(world, *gates, count=4)
    (held,) = world.claim(session)
    hand("DELETE FROM penstock.gate")
    if not running:
        world.complete(held)
    assert world.claim(session) == []
    tend(world)
    assert "3 jobs were parked before a limit whose row is gone" in caplog.text
    if running:
        world.complete(held)
    done = [held.id]
    for _ in jobs[1:]:
        world.clock.advance(60)
        tend(world)
        (claim,) = world.claim(session)
        assert world.claim(session) == []
        world.complete(claim)
        done.append(claim.id)
    assert done == jobs
    assert caplog.text.count("whose row is gone") == 1
    assert faults(world) == []


def test_a_rate_holds_again_after_its_gate_was_deleted(world: World, session: int, hand: Hand) -> None:
    """Starts from before that are still known under a number that is given again are not counted as room."""
    two = msgspec.structs.replace(A_MINUTE, most=2)
    add(world, two, count=12)
    assert len(world.claim(session)) == 2
    hand("DELETE FROM penstock.gate")
    starts = []
    for _ in range(4):
        tend(world)
        starts.append(len(world.claim(session)))
        world.clock.advance(60)
    assert starts == [2, 2, 2, 2]


def test_the_doctor_names_jobs_before_a_gate_that_is_gone(world: World, session: int, hand: Hand) -> None:
    jobs = add(world, AT_ONCE, count=3)
    assert len(world.claim(session)) == 1
    hand("DELETE FROM penstock.gate")
    (found,) = faults(world)
    assert found.level == "warning"
    assert found.message == f"2 × a job parked before a limit whose row is gone, such as {min(jobs[1:])}"
    assert "within a minute" in str(found.fix)
    tend(world)
    world.claim(session)
    assert faults(world) == []


def test_many_jobs_before_a_gate_that_is_gone_are_freed_in_turn(world: World, session: int, hand: Hand) -> None:
    jobs = add(world, AT_ONCE, count=30)
    add(world, WIDE, count=1)
    (held, _) = world.claim(session)
    hand("DELETE FROM penstock.gate WHERE name = 'key:a'")
    world.complete(held)
    done = [held.id]
    while len(done) < len(jobs):
        tend(world)
        (claim,) = world.claim(session)
        world.complete(claim)
        done.append(claim.id)
    assert done == jobs


# All that must hold

DAMAGE = {
    "stateless": "DELETE FROM penstock.parked",
    "jobless": "DELETE FROM penstock.job WHERE KEY IN (SELECT KEY FROM penstock.parked)",
    "several": "INSERT INTO penstock.lease (token, KEY, attempt, session, claimed_at) "
    "SELECT 1000000, KEY, 1, 1, 0 FROM penstock.parked",
    "unreadable": "UPDATE penstock.worker SET queues = 'garbage'",
    "laneless": "DELETE FROM penstock.lane",
    "unknown": "INSERT INTO penstock.outcome (KEY, state, attempt, finished_at) SELECT KEY, 99, 1, 0 "
    "FROM penstock.parked",
    "displaced": "UPDATE penstock.parked SET due_at = due_at + 1",
    "gateless": "DELETE FROM penstock.gate",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_doctor_names_everything_that_must_hold_and_does_not(
    world: World, session: int, hand: Hand, fault: str
) -> None:
    add(world, AT_ONCE, count=2)
    assert len(world.claim(session)) == 1
    assert faults(world) == []
    hand(DAMAGE[fault])
    found = faults(world)
    places = {"several": "lease and parked", "unreadable": "worker"}.get(fault, "parked")
    words = FAULTS[fault].words.format(places=places)
    (told,) = [one for one in found if words in one.message]
    assert told.level == FAULTS[fault].level
    if fault not in ("unreadable", "gateless"):
        assert "docs/doctor.md, 'Rows that contradict each other'" in str(told.fix)


@pytest.mark.parametrize("fault", ["stateless", "jobless", "several", "laneless", "displaced"])
def test_a_command_that_the_doctor_names_works(world: World, session: int, hand: Hand, fault: str) -> None:
    add(world, AT_ONCE, count=2)
    assert len(world.claim(session)) == 1
    hand(DAMAGE[fault])
    for found in faults(world):
        _, named, job_id = str(found.fix).partition("penstock jobs show ")
        assert not named or world.find(job_id) is not None


# As docs/doctor.md says
LETTERS = {
    "stateless": "INSERT INTO penstock.outcome (KEY, state, attempt, finished_at) "
    "SELECT KEY, 2, attempt, due_at FROM penstock.job WHERE id = '{id}'",
    "unknown": "UPDATE penstock.outcome SET state = 2 WHERE KEY = (SELECT KEY FROM penstock.job WHERE id = '{id}')",
}


@pytest.mark.parametrize("fault", LETTERS)
@pytest.mark.parametrize("gated", [True, False])
def test_what_is_made_a_dead_letter_by_hand_runs_again_or_goes_away(
    engine: Engine, world: World, session: int, hand: Hand, fault: str, gated: bool
) -> None:
    jobs = add(world, *([AT_ONCE] if gated else []), count=2)
    if fault == "stateless":
        for table in ("parked", "waiting" if engine.kind == "postgresql" else "ready"):
            hand(f"DELETE FROM penstock.{table}")
    else:
        for _ in range(2 if gated else 1):
            world.complete(*world.claim(session))
        hand("UPDATE penstock.outcome SET state = 99")
    assert faults(world)
    for job_id in jobs:
        hand(LETTERS[fault].format(id=job_id))
    assert faults(world) == []
    ((_, again),) = world.store.retry_dead(
        p.RetryDead(filter=p.DeadFilter(ids=(jobs[0],)), new_ids=[world.new_id()])
    ).wait()
    assert [claim.id for claim in world.claim(session)] == [again]
    assert world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter(ids=(jobs[1],)))).wait() == 1
    assert world.find(jobs[1]) is None
