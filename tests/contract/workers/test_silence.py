"""For how long those were silent that are declared lost: told once, by the operation that does it."""

from __future__ import annotations

from penstock.store.contract import RegisterWorker
from tests.contract.world import STALE_AFTER, World


def test_who_is_declared_lost_was_silent_since_its_last_heartbeat(world: World) -> None:
    first, second = world.register("first"), world.register("second")
    world.clock.advance(10)
    world.heartbeat(second)
    world.add_many(3)
    world.claim(first)
    world.clock.advance(25)
    recovered = world.recover(limit=1)
    assert (recovered.workers, recovered.silent) == (["first"], [35.0])
    assert (world.recover().silent, world.heartbeat(second)) == ([], True)


def test_one_that_ended_in_order_was_not_silent(world: World, session: int) -> None:
    world.claim(session)
    world.heartbeat(session, "inactive")
    world.clock.advance(100)
    assert world.recover().silent == []


def test_a_newcomer_in_the_place_of_a_lost_one_is_told(world: World) -> None:
    world.register("same")
    world.clock.advance(STALE_AFTER + 7)
    again = world.store.register_worker(
        RegisterWorker(worker_id="same", host="h", pid=2, version="1", slots=1, stale_after=STALE_AFTER)
    )
    assert again.wait().silent == [STALE_AFTER + 7]
