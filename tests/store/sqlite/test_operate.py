"""What people do to jobs leaves a trail that only the tables show."""

from __future__ import annotations

import json

from penstock.store.contract import DeadFilter, DrainWorker, PurgeDead, ResizeWorker, RetryDead
from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.store.sqlite.conftest import MakeStore


def test_every_act_is_audited(make_store: MakeStore) -> None:
    clock = FakeClock()
    store = make_store(clock=clock)
    world = World(store, clock)
    session = world.register()
    cancelled = world.add()
    world.cancel(cancelled, actor="alice")
    dead = world.add_dead(session)
    new_id = world.new_id()
    store.retry_dead(RetryDead(filter=DeadFilter(ids=(dead,)), new_ids=[new_id], actor="bob")).wait()
    store.purge_dead(PurgeDead(filter=DeadFilter(retried=True), actor="carol")).wait()
    with store.transaction() as tx:
        entries = tx.execute("SELECT at, actor, action, detail FROM penstock_audit ORDER BY entry")
    assert [entry[:3] for entry in entries] == [
        (clock.now_us(), "alice", "cancel"),
        (clock.now_us(), "bob", "retry"),
        (clock.now_us(), "carol", "purge"),
    ]
    details = [json.loads(str(entry[3])) for entry in entries]
    assert details[0] == {"id": cancelled}
    assert details[1]["jobs"] == [[dead, new_id]]
    assert details[2]["jobs"] == 1


def test_orders_to_workers_are_audited(make_store: MakeStore) -> None:
    clock = FakeClock()
    world = World(make_store(clock=clock), clock)
    world.register("one")
    world.store.resize_worker(ResizeWorker("one", 3, "ann")).wait()
    for _ in range(2):
        world.store.drain_worker(DrainWorker("one", "ann")).wait()
    with world.store.transaction() as tx:
        assert tx.execute("SELECT actor, action, detail FROM penstock_audit ORDER BY entry") == [
            ("ann", "resize", '{"worker":"one","slots":3,"before":10}'),
            ("ann", "drain", '{"worker":"one"}'),
        ]


def test_a_final_job_that_is_cancelled_again_leaves_no_entry(make_store: MakeStore) -> None:
    clock = FakeClock()
    world = World(make_store(clock=clock), clock)
    job_id = world.add()
    world.cancel(job_id)
    world.cancel(job_id)
    with world.store.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM penstock_audit") == [(1,)]
