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
