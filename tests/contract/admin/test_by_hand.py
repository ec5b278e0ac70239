"""Rows that somebody has changed by hand: what waits goes on by itself, loudly, and the doctor names what it finds."""

from __future__ import annotations

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.store import contract as p
from penstock.store.sql.faults import FAULTS, FLOW_FAULTS
from tests.contract.conftest import Hand
from tests.contract.engines import Engine
from tests.contract.flows import Flow, complete, end, types
from tests.contract.world import STALE_AFTER, World, policy_text

AT_ONCE = Gate("key:a", 1, None, "key:a")
IN_ORDER = Gate("key:a", 1, None, "key:a", ordered=True)
A_MINUTE = Gate("rate:a", 1, 60 * MICROSECONDS, "rate:a")
WIDE = Gate("key:wide", 9, None, "key:wide")


def add(world: World, *gates: Gate, count: int, like: p.NewJob | None = None) -> list[str]:
    one = like or world.new_job()
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


# A worker that is gone

GONE = {
    "its row": "DELETE FROM penstock.worker",
    "the session of its leases": "UPDATE penstock.lease SET session = 777",
}


@pytest.mark.parametrize("damage", GONE.values(), ids=GONE)
@pytest.mark.parametrize("gate", [AT_ONCE, IN_ORDER], ids=["at once", "in order"])
def test_jobs_of_a_worker_that_is_gone_are_taken_back(
    world: World, session: int, hand: Hand, damage: str, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """Its limit has room again, its line goes on, and its attempt counts as one of a lost worker."""
    one = world.new_job(policy=policy_text(attempts=1))
    held, behind = add(world, gate, count=2, like=one)
    world.start(world.claim_one(session))
    hand(damage)
    other = world.register("other")
    assert world.claim(other) == []
    recovered = world.recover()
    assert (recovered.jobs, recovered.more) == ([held], False)
    assert "1 jobs were under way at a worker whose row is gone" in caplog.text
    assert held in caplog.text
    job = world.read(held)
    assert (job.state, job.crashes, job.decided_by) == (State.DEAD, 1, "recovery")
    tend(world)
    assert [claim.id for claim in world.claim(other)] == [behind]
    assert world.recover().jobs == []
    assert faults(world) == []


def test_a_job_of_a_worker_that_is_gone_is_tried_again_and_its_token_is_over(
    world: World, session: int, hand: Hand
) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    old = world.claim_one(session)
    hand(DAMAGE["ownerless"])
    other = world.register("other")
    assert world.recover().jobs == [old.id]
    assert complete(world, old) == [old.token]
    world.clock.advance(3600)
    again = world.claim_one(other)
    assert (again.id, again.attempt) == (old.id, 2)
    complete(world, again)
    assert types(world.claim(other)) == ["second"]
    assert flow.step("first").jobs == {State.COMPLETED: 1}


def test_jobs_of_workers_that_are_gone_come_in_pages(world: World, hand: Hand) -> None:
    jobs = world.add_many(7)
    for name in ("first", "second"):
        world.claim(world.register(name), 3)
    hand(DAMAGE["ownerless"])
    world.claim(world.register("alive"))
    pages = [world.recover(limit=4) for _ in range(2)]
    assert [(len(page.jobs), page.more) for page in pages] == [(4, True), (2, False)]
    assert sorted(pages[0].jobs + pages[1].jobs) == sorted(jobs[:6])
    assert world.state(jobs[6]) is State.CLAIMED


def test_a_new_worker_is_not_taken_for_one_that_is_gone(world: World, hand: Hand) -> None:
    """Workers that begin together are ahead of the clock: one that comes soon after must not get the session of one
    of them, whose jobs would be taken for its own.
    """
    world.add_many(8)
    for number in range(8):
        world.claim(world.register(f"old {number}"), 1)
    hand(DAMAGE["ownerless"])
    world.clock.advance(2)
    other = world.register("other")
    assert len(world.recover().jobs) == 8
    assert world.heartbeat(other)


def test_a_lease_of_no_worker_that_could_be_stops_nobody(world: World, session: int, hand: Hand) -> None:
    (job,) = world.add_many(1)
    world.claim(session)
    hand(f"UPDATE penstock.lease SET session = {2**63 - 1}")
    world.register("other")
    assert world.recover().jobs == [job]


def test_recovery_without_mending_looks_at_the_workers_that_are_there(world: World, session: int, hand: Hand) -> None:
    world.add()
    world.claim(session)
    hand(DAMAGE["ownerless"])
    assert world.store.recover_jobs(p.RecoverJobs(STALE_AFTER, mend=False)).wait().jobs == []
    assert len(world.store.recover_jobs(p.RecoverJobs(STALE_AFTER, unheard=())).wait().jobs) == 1


def test_the_doctor_names_jobs_of_a_worker_that_is_gone(world: World, session: int, hand: Hand) -> None:
    jobs = world.add_many(3)
    world.claim(session, 2)
    hand(DAMAGE["ownerless"])
    (found,) = faults(world)
    assert found.level == "warning"
    assert found.message == f"2 × a job that is under way at a worker whose row is gone, such as {min(jobs[:2])}"
    assert "penstock recover" in str(found.fix)
    world.recover()
    assert faults(world) == []


# Workflows

MISCOUNTED = {
    "a step has more jobs left than there are": ("UPDATE penstock.step SET open = open + 1 WHERE step = 0", "jobs"),
    "a step has fewer jobs left than there are": ("UPDATE penstock.step SET open = open - 1 WHERE step = 1", "jobs"),
    "a workflow has more steps left": ("UPDATE penstock.workflow SET open = open + 1", "steps"),
    "a workflow has fewer steps left": ("UPDATE penstock.workflow SET open = open - 1", "steps"),
    "a step waits for more": ("UPDATE penstock.step SET pending = pending + 1 WHERE step = 1", "needs"),
    "a step waits for fewer": ("UPDATE penstock.step SET pending = pending - 1 WHERE step = 1", "needs"),
    "its row is gone": ("DELETE FROM penstock.workflow", "gone"),
    "its row and its steps are gone": ("DELETE FROM penstock.workflow; DELETE FROM penstock.step", "gone"),
    "its row and its jobs are gone": ("DELETE FROM penstock.workflow; DELETE FROM penstock.member", "gone"),
    "a job is gone": ("DELETE FROM penstock.member WHERE step = 1", "jobs"),
    "a step is gone": ("DELETE FROM penstock.step WHERE step = 2", "steps"),
    "what a step waits for is gone": ("DELETE FROM penstock.need WHERE step = 1", "needs"),
}


def flow_faults(world: World) -> list[p.Finding]:
    return [one for one in world.store.check_store(p.CheckStore(deep=True)).wait() if one.name == "workflows"]


@pytest.mark.parametrize(("damage", "fault"), MISCOUNTED.values(), ids=MISCOUNTED)
def test_the_doctor_names_workflows_that_miscount_or_are_gone(
    world: World, session: int, hand: Hand, damage: str, fault: str
) -> None:
    flow = Flow(world, ("a", 2), ("b", 2, ["a"]), ("c", 1)).enqueue()
    complete(world, *world.claim(session, 1, types=("a",)))
    assert flow_faults(world) == []
    for statement in damage.split("; "):
        hand(statement)
    words = f"1 × {FLOW_FAULTS[fault].words}, such as {flow.id}"
    (found,) = [one for one in flow_faults(world) if one.message == words]
    assert found.level == "error"
    assert ("workflows show" in str(found.fix)) is (fault != "gone")


def test_the_doctor_finds_nothing_in_workflows_that_ended_or_were_stopped(world: World, session: int) -> None:
    for name in ("completed", "failed", "cancelled"):
        flow = Flow(world, (name, 2), ("next", 1, [name])).enqueue()
        first, second = world.claim(session, types=(name,))
        if name == "cancelled":
            flow.cancel()
            assert flow_faults(world) == []
            end(world, first, Event.CANCEL)
            continue
        if name == "failed":
            end(world, first)
            assert flow_faults(world) == []
            complete(world, second)
        else:
            complete(world, first)
            assert flow_faults(world) == []
            complete(world, second)
            complete(world, *world.claim(session, types=("next",)))
    assert flow_faults(world) == []


@pytest.mark.parametrize("damage", ["DELETE FROM penstock.workflow", "DELETE FROM penstock.step"])
def test_jobs_of_a_workflow_that_is_gone_end_with_those_of_others(
    world: World, session: int, hand: Hand, damage: str
) -> None:
    lost = Flow(world, ("a", 2), ("b", 1, ["a"])).enqueue()
    hand(damage)
    whole = Flow(world, ("c", 1), ("d", 1, ["c"])).enqueue()
    claims = world.claim(session)
    assert complete(world, *claims) == []
    assert [world.state(id_) for id_ in lost.ids("a")] == [State.COMPLETED] * 2
    assert whole.settle() == 0
    assert types(world.claim(session)) == ["d"]


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
    "ownerless": "DELETE FROM penstock.worker",
    "miscounted": "UPDATE penstock.gate SET period = 60000000, made = 5",
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
    if fault not in ("unreadable", "gateless", "ownerless", "miscounted"):
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
    ((_, again),) = (
        world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(jobs[0],)), new_ids=[world.new_id()])).wait().pairs
    )
    assert [claim.id for claim in world.claim(session)] == [again]
    assert world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter(ids=(jobs[1],)))).wait().jobs == 1
    assert world.find(jobs[1]) is None
