"""A pause and the claims that are under way: whichever commits first, the other knows (L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock.domain.errors import StoreBusy
from penstock.domain.job import State
from penstock.domain.options import NO_RESOURCES
from penstock.engines import open_store
from penstock.store import contract as p
from penstock.store.postgres import engine
from tests.store.postgres.rivals import Connection, RivalWorld, emptied_world
from tests.store.postgres.test_late_commit import Claimer


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def pause_in(rival: Connection) -> None:
    """What a pause does, up to its commit."""
    rival.execute("LOCK TABLE pause IN EXCLUSIVE MODE")
    rival.execute("INSERT INTO pause VALUES ('queue', 'mail', 0, 'rival', NULL)")
    rival.execute("UPDATE order_number SET number = number + 1")


def test_a_claim_that_began_before_the_pause_was_committed_gives_nothing_out_after_it(
    world: RivalWorld, session: int
) -> None:
    """Its connection knows that nothing is paused, and its statement is under way when the pause commits."""
    world.add(queue="rest")
    assert len(world.claim(session)) == 1
    held, free = world.add(queue="mail"), world.add(queue="rest")
    with world.rival() as rival:
        pause_in(rival)
        claiming = world.start_behind(rival, lambda: world.claim(session))
        rival.commit()
        assert [claim.id for claim in claiming.result(30)] == [free]
    assert world.state(held) is State.PENDING


def test_a_pause_waits_for_the_claims_that_are_under_way(world: RivalWorld, session: int) -> None:
    job = world.add(queue="mail")
    with world.rival() as rival:
        (claim,) = Claimer(world, rival, session).claim(5)
        pausing = world.start_behind(rival, lambda: world.pause("queue", "mail"))
        assert world.store.list_pauses().wait() == []
        rival.commit()
        assert [one.changed for one in pausing.result(30)] == [True]
    assert (claim.id, world.state(job)) == (job, State.CLAIMED), "it was given out before the pause was committed"


def test_a_look_for_a_worker_that_began_before_the_pause_fails_nothing_after_it(world: RivalWorld) -> None:
    job = world.add(queue="mail")
    lane = p.FailUnroutable(
        type="task", queue="mail", capability="general", resources=NO_RESOURCES, reason="no workers available"
    )
    with world.rival() as rival:
        pause_in(rival)
        failing = world.start_behind(rival, lambda: world.store.fail_unroutable(lane).wait().ids)
        rival.commit()
        assert failing.result(30) == []
    assert world.state(job) is State.PENDING


def test_a_claim_that_does_not_end_makes_a_pause_give_up_and_others_go_on(
    world: RivalWorld, session: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "LOCK_WAIT_MS", 50)
    world.add_many(2, queue="mail")
    with world.rival() as stuck:
        Claimer(world, stuck, session).claim(1)
        with pytest.raises(StoreBusy):
            world.pause("queue", "mail")
        assert len(world.claim(session)) == 1
    assert world.store.list_pauses().wait() == []


def test_whoever_reads_all_tables_for_long_is_not_in_the_way_of_a_pause(world: RivalWorld, session: int) -> None:
    """As a backup does."""
    world.add(queue="mail")
    with world.rival() as backup:
        backup.execute("LOCK TABLE pause, order_number, lane, waiting, lease, worker IN ACCESS SHARE MODE")
        world.pause("queue", "mail")
        assert world.claim(session) == []


def test_two_pauses_at_once_are_both_seen(world: RivalWorld, session: int) -> None:
    world.add(queue="mail")
    world.add(queue="rest")
    assert world.claim(session, types=("none",)) == []
    with world.rival() as rival:
        pause_in(rival)
        pausing = world.start_behind(rival, lambda: world.pause("queue", "rest"))
        rival.commit()
        pausing.result(30)
    assert world.claim(session) == []


def test_where_notifications_cannot_be_heard_a_look_finds_the_resume(world: RivalWorld) -> None:
    world.add(queue="mail")
    world.pause("queue", "mail")
    deaf = open_store(f"{world.url}&notify=off", clock=world.clock)

    async def main() -> tuple[bool, bool]:
        listener = deaf.listen(0.01)
        try:
            while await listener.wait(0.1):
                pass  # What is there from before.
            before = await listener.wait(0.1)
            await asyncio.to_thread(world.resume, "queue", "mail")
            return before, await listener.wait(10)
        finally:
            listener.close()

    try:
        assert asyncio.run(main()) == (False, True)
    finally:
        deaf.close()


def test_a_claim_reads_no_row_of_what_is_paused(world: RivalWorld, session: int) -> None:
    for _ in range(3):
        world.add_many(1000, queue="mail", priority=9)
    world.pause("queue", "mail")
    read = f"""
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
        WHERE schemaname = '{world.schema}' AND relname = 'waiting'
    """
    with world.rival() as rival:
        rival.execute("SET enable_seqscan = off")
        claimer = Claimer(world, rival, session)
        assert claimer.claim(50) == []
        rival.commit()
        world.add(queue="rest")
        assert [claim.queue for claim in claimer.claim(50)] == ["rest"]
        [(rows,)] = rival.execute(read.encode()).fetchall()
        assert rows < 20
        rival.commit()


def test_all_of_it_is_audited(world: RivalWorld) -> None:
    world.add(queue="mail")
    world.register("one")
    world.pause("queue", "mail", actor="ann", reason="why")
    world.pause("queue", "mail", actor="bob")
    world.resume("queue", "mail", actor="ann")
    world.resume("queue", "mail", actor="bob")
    world.store.resize_worker(p.ResizeWorker("one", 3, "ann")).wait()
    for _ in range(2):
        world.store.drain_worker(p.DrainWorker("one", "ann")).wait()
    assert world.rows("SELECT actor, action, detail FROM audit ORDER BY entry") == [
        ("ann", "pause", '{"queue":["mail"],"reason":"why"}'),
        ("ann", "resume", '{"queue":["mail"],"reason":null}'),
        ("ann", "resize", '{"worker":"one","slots":3,"before":10}'),
        ("ann", "drain", '{"worker":"one"}'),
    ]
