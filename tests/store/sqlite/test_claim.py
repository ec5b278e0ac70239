"""A claim whose payloads together are more than one SQLite value can hold."""

from __future__ import annotations

import apsw

from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.store.sqlite.conftest import MakeStore


def test_a_claim_that_is_too_big_for_one_document(make_store: MakeStore) -> None:
    clock = FakeClock()
    store = make_store(clock=clock)
    world = World(store, clock)
    session = world.register()
    payloads = [str(number) * 50_000 for number in range(10)]
    ids = [world.add(payload=payload) for payload in payloads]
    store._opened()[0].db.limit(apsw.SQLITE_LIMIT_LENGTH, 200_000)
    claims = world.claim(session)
    assert [(claim.id, claim.payload) for claim in claims] == list(zip(ids, payloads, strict=True))
    assert world.complete(*claims) == []


def test_a_claim_does_no_more_work_for_jobs_that_are_paused(make_store: MakeStore) -> None:
    """Counted in steps of SQLite's machine, which are the same each time."""
    clock = FakeClock()
    store = make_store(clock=clock)
    world = World(store, clock)
    session = world.register()

    def steps_of_a_claim() -> int:
        world.add(queue="rest")
        assert [claim.queue for claim in world.claim(session, 50)] == ["rest"]  # Now all is prepared and cached.
        world.add(queue="rest")
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        db = store._opened()[0].db
        db.set_progress_handler(step, 1)
        try:
            assert len(world.claim(session, 50)) == 1
        finally:
            db.set_progress_handler(None)
        return steps

    world.add(queue="mail")
    world.pause("queue", "mail")
    few = steps_of_a_claim()
    for _ in range(4):
        world.add_many(1000, queue="mail", priority=9)
    assert steps_of_a_claim() <= few + 50
