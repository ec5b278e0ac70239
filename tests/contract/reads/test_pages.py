"""Jobs by a key, and by when they ended: page by page, and never more than a bounded look."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Gate
from penstock.domain.job import FINAL, Event, State
from penstock.domain.options import Unique
from penstock.store import contract as p
from penstock.store.contract import LOOKED_AT_MAX
from tests.contract.flows import Flow
from tests.contract.world import World

LIMIT = Gate("key:store:5", 2, None, "key:store:{store}")
RATE = Gate("rate:store:5", 2, 60 * MICROSECONDS, "rate:store:{store}")
OTHER = Gate("key:other", 9, None, "key:other")


def add(world: World, *gates: Gate, **fields: Any) -> str:
    return world.enqueue(msgspec.structs.replace(world.new_job(**fields), gates=gates))[0].id


def paged(world: World, size: int, **fields: Any) -> list[str]:
    """All of a list, one page after the other."""
    found: list[str] = []
    while page := world.list_ids(limit=size, before=found[-1] if found else None, **fields):
        found += page
    return found


def test_jobs_of_a_key_whatever_it_limits_newest_first(world: World) -> None:
    at_once, second, rated = add(world, LIMIT), add(world, OTHER, RATE), add(world, RATE)
    world.add()
    add(world, OTHER)
    unique = world.add(unique=Unique("store:5"))
    world.add(unique=Unique("store:6"))
    expected = [unique, rated, second, at_once]
    assert world.list_ids(key="store:5") == expected
    assert paged(world, 1, key="store:5") == paged(world, 3, key="store:5") == expected
    assert world.list_ids(key="store") == world.list_ids(key="key:store:5") == []


def test_jobs_of_a_key_in_some_states_and_of_a_type(world: World, session: int) -> None:
    first, second, third = (add(world, LIMIT, type=name) for name in ("one", "other", "one"))
    later = add(world, LIMIT, delay=60.0)
    claims = {claim.id: claim for claim in world.claim(session)}
    world.start(claims[first])
    states = {
        State.RUNNING: [first], State.CLAIMED: [second], State.BLOCKED: [third], State.SCHEDULED: [later],
        State.PENDING: [], State.COMPLETED: [],
    }  # fmt: skip
    for state, expected in states.items():
        assert world.list_ids(key="store:5", states=frozenset({state})) == expected
    assert world.list_ids(key="store:5", type="one") == [third, first]
    world.complete(claims[first])
    world.end(claims[second], Event.FAIL)
    world.cancel(later)
    assert world.list_ids(key="store:5", states=FINAL) == [later, second, first]
    assert world.list_ids(key="store:5", states=frozenset({State.DEAD})) == [second]
    assert world.list_ids(key="store:5", states=frozenset({State.PENDING, State.BLOCKED})) == [third]
    assert world.list_ids(key="store:5", sort="finished") == [later, second, first]
    assert paged(world, 1, key="store:5", sort="finished") == [later, second, first]


@pytest.fixture
def ended(world: World, session: int) -> list[str]:
    """Jobs that ended in another order than they were enqueued, the last first; some at the same moment."""
    world.add_many(7)
    claims = world.claim(session)
    order = [claims[at] for at in (3, 1, 4, 0, 5)]
    for number, claim in enumerate(order):
        if number % 2:
            world.clock.advance(1.0)
        world.complete(claim) if number % 3 else world.end(claim, Event.FAIL)
    return [claim.id for claim in reversed(order)]


def test_the_last_that_ended_first(world: World, ended: list[str]) -> None:
    moments = [world.read(job).finished_at for job in world.list_ids(sort="finished")]
    assert moments == sorted(moments, key=lambda moment: moment or world.clock.now_us(), reverse=True)
    assert set(world.list_ids(sort="finished")) == set(ended)
    for size in (1, 2, 3):
        assert paged(world, size, sort="finished") == world.list_ids(sort="finished")


def test_the_last_that_ended_in_some_states_or_of_a_type(world: World, ended: list[str]) -> None:
    dead = [job for job in world.list_ids(sort="finished") if world.state(job) is State.DEAD]
    assert len(dead) == 2
    assert paged(world, 1, sort="finished", states=frozenset({State.DEAD, State.RUNNING})) == dead
    assert world.list_ids(sort="finished", states=frozenset({State.PENDING})) == []
    assert world.list_ids(sort="finished", type="task") == world.list_ids(sort="finished")
    assert world.list_ids(sort="finished", type="other") == []


def test_what_is_planned_has_no_key_yet_and_has_not_ended(world: World) -> None:
    Flow(world, ("first", 1), ("second", 2, ["first"])).enqueue()
    assert len(world.list_ids(states=frozenset({State.BLOCKED}))) == 2
    assert world.list_ids(key="store:5") == world.list_ids(sort="finished") == []


def test_how_many_are_looked_at(world: World) -> None:
    dead = frozenset({State.DEAD})
    assert p.ListJobs(sort="finished", states=dead, limit=7).looks_at == 7
    narrowed = p.ListJobs(key="a"), p.ListJobs(key="a", type="x"), p.ListJobs(sort="finished", tag="x")
    assert {one.looks_at for one in narrowed} == {LOOKED_AT_MAX}


# Counts


def test_counts_by_capability(world: World) -> None:
    world.add_many(3)
    world.add_many(2, capability="gpu")
    world.add(capability="gpu", type="other", delay=60.0)
    found = world.store.count_jobs(p.CountJobs(by_capability=True)).wait()
    assert {(one.type, one.capability, one.state, one.jobs) for one in found} == {
        ("task", "general", State.PENDING, 3),
        ("task", "gpu", State.PENDING, 2),
        ("other", "gpu", State.SCHEDULED, 1),
    }
    narrowed = world.store.count_jobs(p.CountJobs(type="task")).wait()
    assert [(one.jobs, one.capability) for one in narrowed] == [(5, None)]


def test_planned_jobs_are_counted_by_capability_too(world: World) -> None:
    Flow(world, ("first", 1), ("second", 2, ["first"])).enqueue()
    found = world.store.count_jobs(p.CountJobs(by_capability=True)).wait()
    assert {(one.type, one.capability, one.jobs) for one in found} == {
        ("first", "general", 1),
        ("second", "general", 2),
    }


def test_all_queues_are_counted(world: World, session: int) -> None:
    assert world.store.count_queues().wait() == 0
    world.add()
    (held,) = world.claim(session)
    world.complete(held)
    for number in range(150):
        world.add(queue=f"q{number}", delay=60.0)
    world.pause("queue", "q0", "empty", force=True)
    world.pause("type", "task")
    assert world.store.count_queues().wait() == 152


def test_what_is_no_id_is_no_job_and_no_page(world: World) -> None:
    job_id = world.add()
    for odd in ("", "nonsense", job_id.upper(), f"{{{job_id}}}"):
        assert (world.find(odd), world.events(odd)) == (None, [])
        assert world.dead(ids=(odd,)).total == 0
    with pytest.raises(ConfigError, match="is not a job id"):
        world.list_ids(before="nonsense")


def test_a_page_beyond_the_last_dead_letter_still_tells_how_many_there_are(world: World, session: int) -> None:
    world.add()
    world.end(world.claim_one(session), Event.FAIL)
    page = world.store.list_dead(p.ListDead(limit=5, offset=1000)).wait()
    assert (page.jobs, page.total) == ([], 1)
