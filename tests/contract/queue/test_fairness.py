"""The tenants of a queue take turns, whatever the others have enqueued before; and no slot stays empty for it."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.domain.flow.claim_budget import Cap
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import Resources, Tenant
from penstock.store import contract as p
from tests.contract.queue.test_gates import key, rate
from tests.contract.world import World, policy_text

FLOOD = 60


def add(world: World, org: str, number: int = 1, **fields: object) -> list[str]:
    return world.add_many(number, tenant=Tenant(org), **fields)


def served(claims: list[p.Claim]) -> list[str]:
    return [claim.tenant.org if claim.tenant else "-" for claim in claims]


def test_one_that_comes_after_a_flood_is_next(world: World, session: int) -> None:
    add(world, "flood", FLOOD)
    world.clock.advance(60)
    (late,) = add(world, "small")
    assert late in [claim.id for claim in world.claim(session, 2)]


@pytest.mark.parametrize("slots", [1, 2, 3, 7])
def test_two_floods_get_the_same(world: World, session: int, slots: int) -> None:
    add(world, "a", FLOOD)
    world.clock.advance(1)
    add(world, "b", FLOOD)
    given = Counter[str]()
    while sum(given.values()) < 42:
        given.update(served(world.claim(session, slots)))
        assert abs(given["a"] - given["b"]) <= 1
    assert given["a"] == given["b"] == 21


def test_the_jobs_of_one_tenant_keep_their_order(world: World, session: int) -> None:
    jobs = {org: add(world, org, 10) for org in ("a", "b", "c")}
    claims = [claim for _ in range(6) for claim in world.claim(session, 5)]
    for org, mine in jobs.items():
        assert [claim.id for claim in claims if claim.tenant == Tenant(org)] == mine


def test_they_are_given_out_in_turn(world: World, session: int) -> None:
    add(world, "a", 3)
    add(world, "b", 3)
    add(world, "c", 1)
    assert served(world.claim(session, 6)) == ["a", "b", "c", "a", "b", "a"]


def test_more_tenants_than_slots_have_their_turns_one_after_the_other(world: World, session: int) -> None:
    orgs = [f"org-{number:02}" for number in range(10)]
    for org in orgs:
        add(world, org, 4)
    given = [org for _ in range(10) for org in served(world.claim(session, 3))]
    assert given == orgs * 3


def test_a_weight_is_how_many_turns_in_a_row(world: World, session: int) -> None:
    for org in ("a", "b"):
        add(world, org, FLOOD)
    given = [org for _ in range(16) for org in served(world.claim(session, 2, weights={"b": 3}))]
    assert given == ["a", "b", "b", "b"] * 8


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_a_row_of_turns_goes_on_in_the_next_claim(world: World, session: int, slots: int) -> None:
    for org in ("a", "b", "c", "d"):
        add(world, org, 30)
    given = [org for _ in range(30 // slots) for org in served(world.claim(session, slots, weights={"b": 3}))]
    assert given == ["a", "b", "b", "b", "c", "d"] * 5


def test_one_whose_row_goes_on_and_who_has_nothing_left_holds_nobody_up(world: World, session: int) -> None:
    for org, number in (("a", 6), ("b", 1), ("c", 6)):
        add(world, org, number)
    given = [org for _ in range(4) for org in served(world.claim(session, 1, weights={"b": 3}))]
    assert given == ["a", "b", "c", "a"]


def test_no_slot_stays_empty_when_others_have_too_few(world: World, session: int) -> None:
    add(world, "flood", FLOOD)
    for org in ("x", "y", "z"):
        add(world, org, 2)
    claims = world.claim(session, 20)
    assert Counter(served(claims)) == {"flood": 14, "x": 2, "y": 2, "z": 2}
    assert len({claim.id for claim in claims}) == 20


def test_a_claim_that_takes_all_takes_all(world: World, session: int) -> None:
    add(world, "flood", 5)
    add(world, "small", 2)
    assert Counter(served(world.claim(session, 50))) == {"flood": 5, "small": 2}


def test_over_all_types_of_the_queue(world: World, session: int) -> None:
    add(world, "flood", FLOOD, type="export")
    world.clock.advance(60)
    add(world, "small", 3, type="mail")
    assert Counter(served(world.claim(session, 6))) == {"flood": 3, "small": 3}


def test_other_queues_have_their_own_turns_and_keep_their_place_in_the_order(world: World, session: int) -> None:
    add(world, "flood", 4, queue="one")
    world.clock.advance(1)
    add(world, "b", 2, queue="two")
    claims = world.claim(session, 4)
    assert served(claims) == ["flood"] * 4  # They came first, and the other queue has no say in this one.
    assert served(world.claim(session, 2)) == ["b", "b"]


def test_priority_comes_before_fairness(world: World, session: int) -> None:
    add(world, "small", 3)
    add(world, "flood", 6, priority=5)
    assert served(world.claim(session, 6)) == ["flood"] * 6
    assert served(world.claim(session, 6)) == ["small"] * 3


def test_jobs_without_a_tenant_come_in_their_order(world: World, session: int) -> None:
    plain = world.add_many(3)
    world.clock.advance(1)
    add(world, "a", 4)
    world.clock.advance(1)
    add(world, "b", 4)
    claims = world.claim(session, 7)
    assert [claim.id for claim in claims[:3]] == plain
    assert Counter(served(claims[3:])) == {"a": 2, "b": 2}


def test_what_made_room_for_others_waits_where_it_was(world: World, session: int) -> None:
    first = add(world, "a", 6)
    world.clock.advance(1)
    add(world, "b", 3)
    claims = world.claim(session, 6)
    assert Counter(served(claims)) == {"a": 3, "b": 3}
    assert [world.state(job) for job in first] == [State.CLAIMED] * 3 + [State.PENDING] * 3
    assert [world.read(job).attempt for job in first[3:]] == [0, 0, 0]
    assert [claim.id for claim in world.claim(session, 6)] == first[3:]


def test_of_what_has_to_be_counted_each_gets_its_turn(world: World) -> None:
    """Two fit at a time, so no claim takes all that it asks for."""
    needs = Resources(gpu=1)
    session = world.register("gpu", resources=Resources(gpu=2))
    add(world, "a", 6, resources=needs)
    world.clock.advance(1)
    add(world, "b", 6, resources=needs)
    for _ in range(3):
        claims = world.claim(session, 10, resources=Resources(gpu=2))
        assert Counter(served(claims)) == {"a": 1, "b": 1}
        world.complete(*claims)


def test_of_a_type_with_few_slots_each_gets_its_turn(world: World, session: int) -> None:
    add(world, "a", 6, type="narrow")
    world.clock.advance(1)
    add(world, "b", 6, type="narrow")
    given = Counter(org for _ in range(4) for org in served(world.claim(session, 10, caps=(Cap(("narrow",), 1),))))
    assert given == {"a": 2, "b": 2}


def test_a_job_that_failed_here_is_left_to_others_for_a_while(world: World, session: int) -> None:
    other = world.register("other")
    add(world, "a", 5)
    add(world, "b")
    (failed,) = (claim for claim in world.claim(session, 2) if served([claim]) == ["b"])
    world.end(failed, Event.BACK_OFF, delay=0.0, elsewhere=True)
    assert served(world.claim(session, 2)) == ["a", "a"]
    assert failed.id in [claim.id for claim in world.claim(other, 2)]


def test_turns_are_not_used_up_by_jobs_that_could_not_begin(world: World, session: int) -> None:
    """Of limited jobs a worker gets no more than it can begin: those that go back have not had their turn."""
    for org in ("a", "b"):
        for _ in range(8):
            one = world.new_job(tenant=Tenant(org))
            world.enqueue(p.NewJob(one.id, "{}", one.spec, (rate("api", 100, 60),)))
    given = [org for _ in range(8) for org in served(world.claim(session, 4, at_once=1))]
    assert given == ["a", "b"] * 4


def test_a_tenant_that_waits_before_a_full_gate_does_not_hold_up_the_others(world: World, session: int) -> None:
    for org in ("a", "b"):
        for _ in range(4):
            one = world.new_job(tenant=Tenant(org))
            world.enqueue(p.NewJob(one.id, "{}", one.spec, (key(f"of:{org}", 1 if org == "a" else 9),)))
    assert Counter(served(world.claim(session, 5))) == {"a": 1, "b": 4}


def add_limited(world: World, org: str | None, number: int, *gates: Gate, **fields: object) -> list[str]:
    one = world.new_job(tenant=org and Tenant(org), **fields)
    jobs = [p.NewJob(world.new_id(), "{}", one.spec, gates) for _ in range(number)]
    return [new.id for new in world.enqueue(*jobs)]


def run_through(world: World, session: int, times: int) -> list[str]:
    """Who was served when each claim is completed before the next."""
    given = []
    for _ in range(times):
        claims = world.claim(session)
        given += served(claims)
        world.complete(*claims)
    return given


def test_before_a_gate_that_they_share_they_take_turns(world: World, session: int) -> None:
    gate = key("api", 1)
    flood = add_limited(world, "flood", 10, gate)
    world.clock.advance(60)
    add_limited(world, "small", 2, gate)
    assert run_through(world, session, 6) == ["flood", "flood", "small", "flood", "small", "flood"]
    assert [world.state(job) for job in flood[:4]] == [State.COMPLETED] * 4


def test_before_a_gate_with_room_for_several_they_take_turns(world: World, session: int) -> None:
    gate = key("api", 4)
    add_limited(world, "flood", 20, gate)
    world.clock.advance(60)
    add_limited(world, "other", 20, gate)
    add_limited(world, None, 20, gate)
    assert run_through(world, session, 1) == ["flood"] * 4  # When they came, nobody else was there.
    assert Counter(run_through(world, session, 6)) == {"flood": 8, "other": 8, "-": 8}


def test_a_rate_is_shared_too(world: World, session: int) -> None:
    gate = rate("api", 6, 1.0)
    add_limited(world, "flood", 60, gate)
    world.clock.advance(0.5)
    add_limited(world, "small", 6, gate)
    assert served(world.claim(session)) == ["flood"] * 6
    given = Counter[str]()
    for _ in range(4):
        world.clock.advance(1.0)
        given.update(served(world.claim(session)))
    assert given == {"flood": 18, "small": 6}


def test_before_a_gate_priority_comes_first(world: World, session: int) -> None:
    gate = key("api", 1)
    add_limited(world, "a", 1, gate)
    (held,) = world.claim(session)
    add_limited(world, "a", 2, gate)
    add_limited(world, "b", 2, gate, priority=5)
    assert world.claim(session) == []
    world.complete(held)
    assert run_through(world, session, 4) == ["b", "b", "a", "a"]


def test_retries_and_delays_keep_their_tenant(world: World, session: int) -> None:
    add(world, "b", 1, policy=policy_text(attempts=3))
    (claim,) = world.claim(session)
    add(world, "a", FLOOD)
    world.end(claim, Event.BACK_OFF, delay=5.0)
    add(world, "c", 1, delay=5.0)
    world.clock.advance(6)
    assert Counter(served(world.claim(session, 6))) == {"a": 4, "b": 1, "c": 1}


def test_names_of_tenants_in_any_script(world: World, session: int) -> None:
    orgs = ["Ärger", "zebra", "Zebra", "日本", "a b", "ＡＢＣ"]
    for org in orgs:
        add(world, org, 5)
    given = Counter(org for _ in range(6) for org in served(world.claim(session, 4)))
    assert given == dict.fromkeys(orgs, 4)


def test_one_whose_job_is_left_to_others_does_not_hide_those_after_it(world: World, session: int) -> None:
    """A retry that another worker is preferred for waits here, but not for this one: the turn is the next tenant's."""
    add(world, "b")
    (failed,) = world.claim(session, 1)
    world.end(failed, Event.BACK_OFF, delay=0.0, elsewhere=True)
    add(world, "a", 5)
    assert served(world.claim(session, 1)) == ["a"]
    add(world, "z")
    assert served(world.claim(session, 1)) == ["z"]
    assert served(world.claim(session, 1)) == ["a"]


def test_many_whose_jobs_are_left_to_others_do_not_make_a_claim_endless(world: World, session: int) -> None:
    for number in range(200):
        add(world, f"b{number:03}")
    for claim in world.claim(session, 200):
        world.end(claim, Event.BACK_OFF, delay=0.0, elsewhere=True)
    add(world, "a", 2)
    assert served(world.claim(session, 1)) == ["a"]
    assert served(world.claim(session, 1)) == ["a"]
