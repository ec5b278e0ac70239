"""Ordered keys and others at work at the same time: nobody waits for a lock in a circle, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.store import contract as p
from tests.contract.world import policy_text
from tests.store.postgres.rivals import RivalWorld, emptied_world

LINE = Gate("key:line", 1, None, "key:line", True)
KEY = Gate("key:a", 1, None, "key:a")


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def new(world: RivalWorld, gate: Gate = LINE, **fields: object) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(**fields), gates=(gate,))


def add(world: RivalWorld, gate: Gate = LINE, **fields: object) -> str:
    return world.enqueue(new(world, gate, **fields))[0].id


def ids(claims: list[p.Claim]) -> list[str]:
    return [claim.id for claim in claims]


def tickets(world: RivalWorld) -> int:
    [(count,)] = world.rows("SELECT count(*) FROM ticket")
    return int(count)


def test_two_claims_at_once_keep_the_order(world: RivalWorld, session: int) -> None:
    first, second = add(world, type="a"), add(world, type="b")
    other = world.register("other")
    with world.rival() as rival:
        rival.execute("SELECT 1 FROM gate WHERE name = 'key:line' FOR UPDATE")
        late = world.start_behind(rival, lambda: world.claim(other, types=("b",)))
        early = world.start_behind(rival, lambda: world.claim(session, types=("a",)))
        rival.commit()
        (held,) = early.result(30)
        assert (held.id, late.result(30)) == (first, [])
    world.complete(held)
    assert ids(world.claim(other, types=("b",))) == [second]


def test_an_end_that_is_not_yet_committed_does_not_leave_the_next_one_behind(world: RivalWorld, session: int) -> None:
    add(world)
    (held,) = world.claim(session)
    second = add(world)
    with world.rival() as rival:
        rival.execute(f"DELETE FROM lease WHERE token = {held.token}")
        rival.execute(f"INSERT INTO outcome (id, state, attempt, finished_at) VALUES ('{held.id}', 1, 1, 0)")
        assert world.claim(session) == [], "for all others, the first one has not ended"
        rival.execute("SELECT 1 FROM gate WHERE name = 'key:line' FOR UPDATE")
        rival.execute("UPDATE gate SET wake_at = 0")
        rival.commit()
    assert ids(world.claim(session)) == [second]


def test_a_transaction_that_is_still_open_holds_up_nobody(world: RivalWorld, session: int) -> None:
    early = new(world, priority=9)
    with world.store.transaction() as tx:
        world.store.enqueue_jobs(p.EnqueueJobs([early], tx)).wait()
        world.clock.advance(1.0)
        late = add(world)
        (held,) = world.claim(session)
        assert held.id == late
    world.end(held, Event.BACK_OFF, delay=0.0)
    assert ids(world.claim(session)) == [early.id], "it was due first, and is there now"


def test_one_that_ends_in_a_transaction_of_the_callers_makes_way_with_the_last_word_of_its_worker(
    world: RivalWorld, session: int
) -> None:
    first, second = add(world), add(world)
    (held,) = world.claim(session)
    assert (held.id, world.claim(session)) == (first, [])
    done = p.Completed(held.token, world.clock.now_us())
    with world.store.transaction() as tx:
        assert world.store.finish_jobs(p.FinishJobs([done], transaction=tx)).wait().lost == []
    assert world.store.finish_jobs(p.FinishJobs([done])).wait().lost == [held.token], "as a worker does when it knows"
    assert ids(world.claim(session)) == [second]


@pytest.mark.parametrize("gate", [LINE, KEY])
def test_an_enqueue_does_not_wait_for_another_that_keeps_the_gate(world: RivalWorld, session: int, gate: Gate) -> None:
    add(world, gate)
    (held,) = world.claim(session)
    second = add(world, gate)
    assert world.claim(session) == []
    with world.rival() as rival:
        rival.execute(f"SELECT 1 FROM gate WHERE name = '{gate.name}' FOR KEY SHARE")
        third = add(world, gate)
        assert world.state(third) is State.BLOCKED
        rival.execute("UPDATE gate SET wake_at = 0")
        rival.commit()
    world.complete(held)
    assert ids(world.claim(session)) == [second]


@pytest.mark.parametrize("gate", [LINE, KEY])
def test_a_claim_does_not_wait_for_a_cancel_that_comes_for_the_gate(
    world: RivalWorld, session: int, gate: Gate
) -> None:
    add(world, gate)
    (held,) = world.claim(session)
    second = add(world, gate)
    assert world.claim(session) == []
    world.complete(held)
    with world.rival() as rival:
        rival.execute("DELETE FROM parked")
        assert world.claim(session) == []
    world.store.tend_gates(p.TendGates()).wait()
    assert ids(world.claim(session)) == [second]


def test_jobs_that_an_older_version_stored_pass_a_gate_that_is_made_again(world: RivalWorld, session: int) -> None:
    first = add(world, KEY)
    world.rows('UPDATE job SET gates = \'[["key:a",1,null,"key:a"]]\'')
    world.rows("DELETE FROM gate")
    (held,) = world.claim(session)
    assert (held.id, held.gates) == (first, (KEY,))
    assert world.rows("SELECT name, most, ordered FROM gate") == [("key:a", 1, False)]


def test_nothing_is_left_of_jobs_that_have_ended_in_any_way(world: RivalWorld, session: int) -> None:
    jobs = [new(world) for _ in range(6)]
    jobs += [new(world, ttl=5.0, policy=policy_text(ttl=5.0)), new(world, delay=60.0), new(world, type="strange")]
    world.enqueue(*jobs)
    world.cancel(jobs[5].id)
    world.cancel(jobs[7].id)
    for end in (Event.FAIL, Event.CANCEL):
        world.end(world.claim(session, types=("task",))[0], end)
    for keep in (True, False, True):
        world.complete(*world.claim(session, types=("task",)), keep=keep)
    assert tickets(world) == 3, "the last that ran, the one that expires, and the one that nobody runs"
    world.clock.advance(6.0)
    world.heartbeat(session)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.claim(session, types=("task",)) == []
    strange = p.FailUnroutable(
        type="strange", queue="default", capability="general", resources=jobs[0].spec.resources, reason="nobody"
    )
    assert world.store.fail_unroutable(strange).wait().ids == [jobs[8].id]
    world.store.tend_gates(p.TendGates()).wait()
    assert tickets(world) == 0


def test_one_that_a_claim_finds_expired_makes_way_and_goes_with_its_job(world: RivalWorld, session: int) -> None:
    first = add(world, ttl=5.0, policy=policy_text(ttl=5.0))
    second = add(world, type="other")
    assert world.claim(session, types=("other",)) == []
    world.clock.advance(6.0)
    world.heartbeat(session)
    assert world.claim(session, types=("task",)) == []
    assert world.state(first) is State.EXPIRED
    world.store.tend_gates(p.TendGates()).wait()
    assert ids(world.claim(session, types=("other",))) == [second]

    alone = add(world, msgspec.structs.replace(LINE, name="key:alone"), ttl=5.0, policy=policy_text(ttl=5.0))
    world.rows("DELETE FROM gate WHERE name = 'key:alone'")
    world.clock.advance(6.0)
    world.heartbeat(session)
    world.claim(session, types=("task",))
    world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter(ids=(alone,)), limit=1)).wait()
    assert world.rows("SELECT id FROM ticket WHERE name = 'key:alone'") == []
