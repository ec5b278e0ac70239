"""What people do to jobs while others act on the same jobs, and the trail that it leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import ModuleType

import msgspec
import pytest

from penstock.domain.errors import AlreadyRetried, StoreBusy, UnknownJob
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import Tenant, Unique
from penstock.store.contract import Cancelled, DeadFilter, PurgeDead, RecoverJobs, RetryDead
from penstock.store.postgres.hot import mend
from penstock.store.sql.steps import Rows, Steps, run
from tests.contract.world import plain
from tests.store.postgres.rivals import RivalWorld, emptied_world

CLAIM = """
WITH gone AS (DELETE FROM waiting RETURNING id)
INSERT INTO lease (token, id, attempt, session, claimed_at) SELECT nextval('token'), id, 1, {session}, 0 FROM gone
"""
COMPLETE = """
WITH gone AS (DELETE FROM lease RETURNING id)
INSERT INTO outcome (id, state, attempt, finished_at) SELECT id, 1, 1, 0 FROM gone
"""


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def retry(world: RivalWorld, **filter: object) -> list[tuple[str, str]]:
    params = RetryDead(filter=DeadFilter(**filter), new_ids=[world.new_id(), world.new_id()])  # type: ignore[arg-type]
    return world.store.retry_dead(params).wait().pairs


def pointers(world: RivalWorld) -> list[str]:
    """Where jobs are: one entry for each pointer."""
    tables = ("waiting", "lease", "outcome")
    return [table for table in tables for _ in world.rows(f"SELECT 1 FROM {table}")]


# Cancel against a claim, a finish and a recovery


def test_a_cancel_that_comes_second_to_a_claim_asks_to_stop(world: RivalWorld, session: int) -> None:
    job_id = world.add()
    with world.rival() as rival:
        rival.execute(CLAIM.format(session=session).encode())
        cancelled = world.start_behind(rival, lambda: world.cancel(job_id))
        rival.commit()
        assert cancelled.result(30) == Cancelled(State.CLAIMED, State.CLAIMED)
    assert (pointers(world), world.read(job_id).cancel_requested) == (["lease"], True)


def test_a_cancel_that_waited_for_a_claim_that_failed_cancels_at_once(world: RivalWorld, session: int) -> None:
    job_id = world.add()
    with world.rival() as rival:
        rival.execute(CLAIM.format(session=session).encode())
        cancelled = world.start_behind(rival, lambda: world.cancel(job_id))
        rival.rollback()
        assert plain(cancelled.result(30)) == Cancelled(State.PENDING, State.CANCELLED)
    assert pointers(world) == ["outcome"]


@pytest.fixture
def cancel_before(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> Callable[[ModuleType, str], list[Cancelled]]:
    """A person cancels everything in the midst of a claim: before this statement of it."""

    def prepare(module: ModuleType, statement: str) -> list[Cancelled]:
        cancelled: list[Cancelled] = []

        def cancel_and_run(name: str, **parameters: object) -> Steps[Rows]:
            if name == statement and not cancelled:
                cancelled.extend(world.cancel(job_id) for (job_id,) in world.rows("SELECT id::text FROM lease"))
            return (yield from run(name, **parameters))

        monkeypatch.setattr(module, "run", cancel_and_run)
        return cancelled

    return prepare


def test_what_makes_room_for_other_tenants_and_is_cancelled_meanwhile_ends(
    world: RivalWorld, session: int, cancel_before: Callable[[ModuleType, str], list[Cancelled]]
) -> None:
    many = world.add_many(3, tenant=Tenant("a"))
    world.clock.advance(1)
    world.add_many(3, tenant=Tenant("b"))
    cancelled = cancel_before(mend, "give_back")
    told = [claim.id for claim in world.claim(session, 2)]
    assert cancelled == [Cancelled(State.CLAIMED, State.CLAIMED)] * 3
    assert [world.state(job) for job in told] == [State.CLAIMED, State.CLAIMED]
    [made_room] = [job for job in many[:2] if job not in told]
    assert (world.state(made_room), world.events(made_room)) == (State.CANCELLED, ["cancel"])
    assert made_room not in [claim.id for claim in world.claim(session, 10)]


def test_what_is_held_up_by_a_limit_and_is_cancelled_meanwhile_ends(
    world: RivalWorld, session: int, cancel_before: Callable[[ModuleType, str], list[Cancelled]]
) -> None:
    line = (Gate("key:a", 1, None, "key:a", ordered=True),)
    jobs = [world.enqueue(msgspec.structs.replace(world.new_job(), gates=line))[0].id for _ in range(3)]
    cancelled = cancel_before(mend, "admit")
    told = [claim.id for _ in range(2) for claim in world.claim(session, 2)]
    assert cancelled == [Cancelled(State.CLAIMED, State.CLAIMED)] * 2
    assert [world.state(job) for job in jobs[:2]] == [State.CANCELLED, State.CANCELLED]
    assert [world.events(job) for job in jobs[:2]] == [["cancel"], ["cancel"]]
    assert told == [jobs[2]], "the next in line has its turn"


def test_a_cancel_that_comes_second_to_a_completion_changes_nothing(world: RivalWorld, session: int) -> None:
    job_id = world.add()
    world.claim_one(session)
    with world.rival() as rival:
        rival.execute(COMPLETE.encode())
        cancelled = world.start_behind(rival, lambda: world.cancel(job_id))
        rival.commit()
        assert cancelled.result(30) == Cancelled(State.COMPLETED, State.COMPLETED)
    assert (pointers(world), world.rows("SELECT 1 FROM audit")) == (["outcome"], [])


@pytest.mark.parametrize("event", [Event.COMPLETE, Event.FAIL, Event.BACK_OFF])
def test_an_attempt_that_ends_while_it_is_cancelled_ends_once(world: RivalWorld, session: int, event: Event) -> None:
    job_id = world.add()
    claim = world.claim_one(session)
    with world.rival() as rival:
        rival.execute(b"UPDATE lease SET cancel = true")
        ended = world.start_behind(
            rival, lambda: world.complete(claim) if event is Event.COMPLETE else world.end(claim, event)
        )
        rival.commit()
        assert ended.result(30) == []
    assert (pointers(world), world.state(job_id)) == (["outcome"], State.CANCELLED)


def test_a_job_that_is_nowhere_is_not_looked_for_without_end(world: RivalWorld) -> None:
    job_id = world.add()
    world.rows("DELETE FROM waiting")
    with pytest.raises(StoreBusy, match="penstock doctor --deep"):
        world.cancel(job_id)
    assert world.rows("SELECT 1 FROM audit") == []


@pytest.mark.parametrize("wrong", ["", "nonsense", "0" * 36])
def test_what_is_no_id_is_no_job(world: RivalWorld, session: int, wrong: str) -> None:
    dead = world.add_dead(session)
    for odd in (wrong, dead.upper()):
        with pytest.raises(UnknownJob, match="no job has the id"):
            world.cancel(odd)
        with pytest.raises(UnknownJob, match="not among the dead letters"):
            retry(world, ids=(dead, odd))
    assert world.dead().total == 1


# Two people and one dead letter


def test_of_two_who_retry_one_dead_letter_the_second_is_refused(world: RivalWorld, session: int) -> None:
    dead, new_id = world.add_dead(session), world.new_id()
    with world.rival() as rival:
        rival.execute(f"UPDATE outcome SET retried_as = '{new_id}'".encode())
        second = world.start_behind(rival, lambda: retry(world, ids=(dead,)))
        rival.commit()
        with pytest.raises(AlreadyRetried, match=new_id):
            second.result(30)
    assert world.list_ids() == [dead]


def test_of_two_who_retry_all_the_second_gets_what_is_left(world: RivalWorld, session: int) -> None:
    first, other = world.add_dead(session), world.add_dead(session)
    with world.rival() as rival:
        rival.execute(f"UPDATE outcome SET retried_as = '{world.new_id()}' WHERE id = '{first}'".encode())
        second = world.start_behind(rival, lambda: retry(world))
        rival.commit()
        assert [old for old, _ in second.result(30)] == [other]


def test_a_dead_letter_that_is_purged_meanwhile_is_not_retried(world: RivalWorld, session: int) -> None:
    dead = world.add_dead(session)
    with world.rival() as rival:
        rival.execute(b"DELETE FROM outcome")
        rival.execute(b"DELETE FROM job")
        second = world.start_behind(rival, lambda: retry(world, ids=(dead,)))
        rival.commit()
        with pytest.raises(UnknownJob, match=dead):
            second.result(30)
    assert world.list_ids() == []


# Retention


@pytest.mark.parametrize("keep", [True, 0])
def test_what_somebody_holds_is_left_for_the_next_time(world: RivalWorld, session: int, keep: bool | int) -> None:
    """`keep`: found by its age, or by the count of those that are kept."""
    held, free = world.add_many(2)
    world.complete(*world.claim(session), keep=keep)
    world.clock.advance(10)
    with world.rival() as rival:
        rival.execute(f"SELECT 1 FROM outcome WHERE id = '{held}' FOR UPDATE".encode())
        assert world.prune(completed_after=1) == 1
        assert (world.find(free), world.state(held)) == (None, State.COMPLETED)
    assert world.prune(completed_after=1) == 1


def test_a_key_that_is_taken_anew_stays(world: RivalWorld, session: int) -> None:
    world.add(unique=Unique("key"))
    world.complete(world.claim_one(session), keep=False)
    new = world.new_id()
    with world.rival() as rival:
        rival.execute(f"UPDATE unique_key SET id = '{new}'".encode())
        pruned = world.start_behind(rival, world.prune)
        rival.commit()
        assert pruned.result(30) == 0
    assert world.rows("SELECT key, id::text FROM unique_key") == [("key", new)]


# The trail


def test_every_act_is_audited(world: RivalWorld, session: int) -> None:
    cancelled = world.add()
    world.cancel(cancelled, actor="alice")
    world.cancel(cancelled, actor="alice")
    dead, new_id = world.add_dead(session), world.new_id()
    world.store.retry_dead(RetryDead(filter=DeadFilter(ids=(dead,)), new_ids=[new_id], actor="bob")).wait()
    world.store.purge_dead(PurgeDead(filter=DeadFilter(retried=True), actor="carol")).wait()
    entries = world.rows("SELECT at, actor, action, detail FROM audit ORDER BY entry")
    now = world.clock.now_us()
    assert [entry[:3] for entry in entries] == [
        (now, "alice", "cancel"),
        (now, "bob", "retry"),
        (now, "carol", "purge"),
    ]
    details = [json.loads(entry[3]) for entry in entries]
    assert details[0] == {"id": cancelled}
    assert details[1] == {"jobs": [[dead, new_id]], "forced": False}
    assert details[2]["jobs"] == 1


def test_who_takes_back_the_jobs_of_others_is_audited(world: RivalWorld, session: int) -> None:
    world.add()
    world.claim(session)
    world.clock.advance(600)
    world.store.recover_jobs(RecoverJobs(stale_after=60.0, actor="ann")).wait()
    world.store.recover_jobs(RecoverJobs(stale_after=60.0)).wait()
    assert world.rows("SELECT actor, action FROM audit") == [("ann", "recover")]
