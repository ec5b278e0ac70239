"""What a claim takes fits together into what the worker has free (R1, L3)."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.claim_budget import PASSED_OVER_SECONDS_MAX, Cap, ClaimBudget
from penstock.domain.flow.routing import missing_resources
from penstock.domain.options import NO_RESOURCES, Resources
from tests.contract.conftest import OpenAgain
from tests.contract.world import World

HAS = Resources(cpu=4, memory="8Gi")
PASSED_OVER_US = int(PASSED_OVER_SECONDS_MAX * MICROSECONDS)


def take(world: World, session: int, limit: int = 100, **fields: Any) -> list[str]:
    return [claim.id for claim in world.claim(session, limit, **{"resources": HAS, **fields})]


def need(world: World, cpu: float, **fields: Any) -> str:
    return world.add(resources=Resources(cpu=cpu), **fields)


def test_a_claim_says_what_its_job_needs(world: World, session: int) -> None:
    world.add(resources=Resources(cpu=2, memory="1Gi"))
    world.add()
    needy, plain = world.claim(session, resources=HAS)
    assert (needy.resources, plain.resources) == (Resources(cpu=2, memory="1Gi"), None)


def test_what_is_taken_at_once_fits_in_sum(world: World, session: int) -> None:
    ids = [need(world, 1.5) for _ in range(4)]
    assert take(world, session) == ids[:2]


def test_each_resource_is_counted(world: World, session: int) -> None:
    big, second = (world.add(resources=Resources(memory="5Gi")) for _ in range(2))
    cpu = need(world, 4)
    assert take(world, session) == [big, cpu]
    assert take(world, session, free=HAS) == [second]


def test_what_is_in_use_is_not_free(world: World, session: int) -> None:
    need(world, 2)
    assert take(world, session, free=Resources(cpu=1, memory="8Gi")) == []
    assert len(take(world, session, free=Resources(cpu=2, memory="8Gi"))) == 1


def test_nothing_free_leaves_those_that_need_nothing(world: World, session: int) -> None:
    need(world, 1, priority=9)
    plain = world.add_many(3)
    assert take(world, session, free=NO_RESOURCES) == plain


def test_a_job_that_does_not_fit_holds_up_nobody(world: World, session: int) -> None:
    first, big, plain, small = need(world, 3), need(world, 2), world.add(), need(world, 1)
    assert take(world, session) == [first, plain, small]
    assert take(world, session, free=HAS) == [big]


def test_the_order_holds_among_what_fits(world: World, session: int) -> None:
    plain = world.add_many(3)
    needy = need(world, 4, priority=1)
    other = need(world, 4)
    urgent = world.add_many(2, priority=5)
    assert take(world, session, 1) == urgent[:1]
    assert take(world, session, 3) == [urgent[1], needy, plain[0]]
    assert take(world, session, free=NO_RESOURCES) == plain[1:]
    assert take(world, session) == [other]


def test_the_order_holds_between_many_that_need_nothing_and_few_that_need_something(world: World, session: int) -> None:
    expected, capacity = [], 4.0
    for n in range(60):
        cpu = 1.0 if n % 7 == 3 else 0.0
        job = world.add(type=f"type{n % 3}", resources=Resources(cpu=cpu))
        if cpu <= capacity:
            expected.append(job)
            capacity -= cpu
    assert take(world, session, 30) == expected[:30]
    left = 4.0 - sum(n % 7 == 3 for n in range(60) if n < 30)
    assert len(take(world, session, 100, free=Resources(cpu=max(0.0, left)))) == len(expected) - 30


def test_fractions_add_up(world: World, session: int) -> None:
    ids = [need(world, 0.1) for _ in range(12)]
    assert take(world, session, resources=Resources(cpu=1)) == ids[:10]


def test_only_one_of_two_workers_gets_the_job_that_both_could_run(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    sessions = world.register("one"), other.register("two")
    need(world, 4)
    assert [len(take(world, sessions[0])), len(take(other, sessions[1]))] == [1, 0]


# Passed over


def test_a_stream_of_small_jobs_does_not_starve_a_big_one(world: World, session: int) -> None:
    """Three of four cores are always in use by small ones, until the big one has waited for too long."""
    running, free = need(world, 3), Resources(cpu=1)
    assert take(world, session) == [running]
    big = need(world, 4)
    small = need(world, 1)
    assert take(world, session, free=free) == [small], "it is passed over"
    world.clock.advance(PASSED_OVER_SECONDS_MAX + 1)
    plain, needs_memory, late = world.add(), world.add(resources=Resources(memory="1Gi")), need(world, 1)
    left = Resources(cpu=1, memory="8Gi")
    assert take(world, session, free=left) == [plain, needs_memory], "cores are kept for it, nothing else is"
    assert take(world, session, free=HAS) == [big]
    assert take(world, session, free=HAS) == [late]


def test_what_comes_before_the_big_one_still_goes_first(world: World, session: int) -> None:
    need(world, 4)
    world.clock.advance(PASSED_OVER_SECONDS_MAX + 1)
    urgent = need(world, 1, priority=1)
    assert take(world, session, free=Resources(cpu=1)) == [urgent]


def test_nothing_is_kept_for_a_job_that_another_worker_has_taken(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    session, second = world.register("one"), other.register("two")
    big = need(world, 4)
    world.clock.advance(PASSED_OVER_SECONDS_MAX + 1)
    small = need(world, 1)
    assert take(world, session, free=Resources(cpu=1)) == []
    assert take(other, second, 1) == [big]
    assert take(world, session, free=Resources(cpu=1)) == [small]


def test_nothing_is_kept_for_a_job_that_this_worker_could_never_run(world: World, session: int) -> None:
    need(world, 5)
    world.clock.advance(PASSED_OVER_SECONDS_MAX + 1)
    small = need(world, 1)
    assert take(world, session, free=Resources(cpu=1)) == [small]


# Limited types


def test_no_more_of_a_type_than_its_cap(world: World, session: int) -> None:
    ids, others = world.add_many(5, type="limited"), world.add_many(2, type="other")
    caps = (Cap(("limited",), 2),)
    assert take(world, session, caps=caps) == [*ids[:2], *others]
    assert take(world, session, caps=(Cap(("limited",), 0),)) == []
    assert take(world, session, caps=caps) == ids[2:4]


def test_the_names_of_one_type_share_its_cap(world: World, session: int) -> None:
    ids = [world.add(type=name) for name in ("new", "old", "new")]
    assert take(world, session, caps=(Cap(("new", "old"), 2),)) == ids[:2]


def test_a_cap_and_resources_both_hold(world: World, session: int) -> None:
    ids = [need(world, 1, type=name) for name in ("a", "a", "a", "b", "b", "b")]
    assert take(world, session, caps=(Cap(("a",), 1),)) == [ids[0], *ids[3:6]]


@pytest.mark.parametrize("limit", [1, 3, 40])
def test_many_kinds_in_small_and_large_claims_never_take_too_much(world: World, session: int, limit: int) -> None:
    for n in range(80):
        world.add(type=f"type{n % 5}", priority=n % 3, resources=Resources(cpu=(n % 4) * 0.75, memory=(n % 3) * 2**30))
    claims = world.claim(session, limit, resources=HAS, caps=(Cap(("type1",), 1), Cap(("type2", "type3"), 2)))
    needs = [claim.resources or NO_RESOURCES for claim in claims]
    assert sum(one.cpu for one in needs) <= HAS.cpu
    assert sum(one.memory for one in needs) <= HAS.memory
    assert sum(claim.type == "type1" for claim in claims) <= 1
    assert sum(claim.type in ("type2", "type3") for claim in claims) <= 2
    places = [(-claim.priority, claim.due_at, claim.id) for claim in claims]
    assert places == sorted(places)


# All of it at random, against the rule in a few lines


def by_the_rule(
    waiting: list[Waiting], has: Resources, free: Resources, caps: tuple[Cap, ...], limit: int, now: int
) -> list[str]:
    room, taken = ClaimBudget(free, caps), list[str]()
    for job in sorted(waiting, key=lambda one: one.place):
        if len(taken) == limit or missing_resources(has, job.resources):
            continue
        if room.fits(job) and room.allows(job, job.place):
            room.take(job)
            taken.append(job.id)
        elif job.place[1] <= now - PASSED_OVER_US:
            room.hold_for(job, job.place)
    return taken


class Waiting(NamedTuple):
    place: tuple[int, int, str]
    id: str
    type: str
    resources: Resources


NEEDS = (NO_RESOURCES, NO_RESOURCES, Resources(cpu=1), Resources(cpu=2.5), Resources(cpu=4, memory="1Gi"),
         Resources(memory="3Gi"), Resources(cpu=0.5, memory="6Gi"), Resources(gpu=1))  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_claims_follow_the_rule(world: World, open_again: OpenAgain, seed: int) -> None:
    random, other = Random(seed), open_again()
    stores = [(world, world.register("one")), (other, other.register("two"))]
    waiting: list[Waiting] = []
    for _ in range(12):
        for _ in range(random.randrange(6)):
            world.clock.advance(0.001)  # No two are due at the same moment.
            number = random.randrange(len(NEEDS))
            kind, priority = f"type{random.randrange(3)}", number % 3
            job = random.choice(stores)[0].add(type=kind, priority=priority, resources=NEEDS[number])
            waiting.append(Waiting((-priority, world.clock.now_us(), job), job, kind, NEEDS[number]))
        world.clock.advance(random.choice([0.0, 1.0, 6.0]))
        free = Resources(cpu=random.choice([0, 1, 2, 4]), memory=random.choice([0, 2**30, 8 * 2**30]))
        caps = tuple(Cap((f"type{n}",), random.randrange(4)) for n in range(2) if random.random() < 0.5)
        limit = random.choice([1, 2, 5, 40])
        store, session = random.choice(stores)
        store.claim(session, 1, types=())  # It knows what time it is.
        expected = by_the_rule(waiting, HAS, free, caps, limit, world.clock.now_us())
        assert take(store, session, limit, free=free, caps=caps) == expected
        waiting = [job for job in waiting if job.id not in expected]
