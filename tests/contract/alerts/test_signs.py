"""The small looks that rules need beside the figures."""

from __future__ import annotations

import pytest

from penstock.domain.job import Event
from penstock.domain.options import Tenant
from penstock.store import contract as p
from tests.contract.conftest import CarryOut
from tests.contract.world import World, policy_text


@pytest.fixture
def session(world: World) -> int:
    return world.register("worker-7")


def look(world: World, dead_since: int = 0, **fields: object) -> p.Signs:
    asked = p.ReadSigns(dead_since=dead_since, **{"unstarted_seconds": 300.0, **fields})  # type: ignore[arg-type]
    return world.store.read_signs(asked).wait()


def test_nothing_is_seen_in_a_store_where_nothing_is(world: World, carry_out: CarryOut) -> None:
    asked = p.ReadSigns(dead_since=0, unstarted_seconds=1.0)
    assert carry_out(world.store.read_signs(asked)) == p.Signs(dead=[], runs=[])


def test_dead_letters_since_a_moment_the_newest_first(world: World, session: int) -> None:
    world.add_dead(session, "long ago")
    world.clock.advance(60)
    since = world.clock.now_us()
    first = world.add_dead(session, "broken", type="mail", tenant=Tenant("acme"))
    world.clock.advance(1)
    last = world.add_dead(session, "again")
    assert look(world, since).dead == [
        p.DeadSign(id=last, type="task", org=None, attempt=1, error="ValueError: again"),
        p.DeadSign(id=first, type="mail", org="acme", attempt=1, error="ValueError: broken"),
    ]
    assert [one.id for one in look(world, since, limit=1).dead] == [last]


def test_a_dead_letter_without_an_error_tells_its_reason(world: World, session: int) -> None:
    world.add()
    world.end(world.claim_one(session), Event.FAIL, reason="gave up")
    [dead] = look(world).dead
    assert dead.error == "gave up"


def test_the_oldest_claim_that_has_not_begun(world: World, session: int) -> None:
    ids = world.add_many(3, type="mail")
    claims = world.claim(session)
    world.start(claims[0])
    world.clock.advance(299)
    late = world.add(type="late")
    world.claim_one(session)
    assert look(world).unstarted is None
    world.clock.advance(1)
    signs = look(world)
    assert signs.unstarted is not None
    assert signs.unstarted.id in ids[1:]
    assert (signs.unstarted.type, signs.unstarted.worker, signs.unstarted_jobs) == ("mail", "worker-7", 2)
    assert late != signs.unstarted.id


def test_the_runs_that_have_lasted_longest(world: World, session: int) -> None:
    world.add(type="quick", policy=policy_text(timeout=5.0))
    world.add(type="endless", policy=policy_text(timeout=None))
    for claim in world.claim(session):
        world.clock.advance(1)
        world.start(claim)
    assert [(one.type, one.timeout) for one in look(world).runs] == [("quick", 5.0), ("endless", None)]


def test_since_when_pages_wait_to_be_folded(world: World, session: int) -> None:
    at = world.clock.now_us()
    world.cancel(world.add())
    world.clock.advance(10)
    world.cancel(world.add())
    assert look(world).unfolded_at == at
    world.store.fold_figures(p.FoldFigures()).wait()
    assert look(world).unfolded_at is None


def test_the_room_of_a_store_is_known_or_not(world: World, carry_out: CarryOut) -> None:
    world.add()
    room = carry_out(world.store.read_room())
    if world.store.info.engine == "sqlite":
        assert room.free > 0
        assert room.used > 0
    else:
        assert room is None
