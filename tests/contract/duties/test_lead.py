"""Who leads: one at a time, with terms that grow and fence what the leaders before still want to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.domain.errors import NotLeader
from penstock.domain.options import NO_RESOURCES
from penstock.store import contract as p
from penstock.store.contract import SqlStore
from tests.contract.conftest import OpenAgain
from tests.contract.world import STALE_AFTER, World

LEASE = 10.0


def lead(world: World, session: int, lease: float | None = LEASE) -> p.Leadership:
    return world.store.lead_store(p.LeadStore(session, lease)).wait()


def test_the_first_that_asks_leads_and_keeps_the_lead(world: World, open_again: OpenAgain) -> None:
    first, second = world.register("first"), world.register("second")
    assert lead(world, first) == p.Leadership(1, True, "first", LEASE)
    world.clock.advance(4)
    assert lead(open_again(), second) == p.Leadership(1, False, "first", 6.0)
    assert lead(world, first) == p.Leadership(1, True, "first", LEASE)


def test_the_next_leads_when_the_lease_is_over_with_a_larger_term(world: World) -> None:
    first, second = world.register("first"), world.register("second")
    lead(world, first)
    world.clock.advance(LEASE - 0.001)
    assert not lead(world, second).acting
    world.clock.advance(0.001)
    assert lead(world, second) == p.Leadership(2, True, "second", LEASE)
    assert not lead(world, first).acting
    world.clock.advance(LEASE)
    assert lead(world, first).term == 3


def test_a_leader_whom_nobody_replaced_goes_on_with_its_term(world: World, session: int) -> None:
    lead(world, session)
    world.clock.advance(LEASE * 5)
    assert lead(world, session) == p.Leadership(1, True, "worker", LEASE)


def test_a_leader_that_gives_up_leaves_the_lead_free(world: World) -> None:
    first, second = world.register("first"), world.register("second")
    lead(world, first)
    assert lead(world, first, None) == p.Leadership(1, False, "first", 0.0)
    assert lead(world, second).acting


def test_giving_up_what_another_has_changes_nothing(world: World) -> None:
    first, second = world.register("first"), world.register("second")
    assert lead(world, second, None) == p.Leadership(0, False, None, 0.0)
    lead(world, first)
    assert lead(world, second, None) == p.Leadership(1, False, "first", LEASE)


def test_who_is_not_registered_lost_or_ended_cannot_lead(world: World) -> None:
    assert not lead(world, 12345).acting
    ended, lost = world.register("ended"), world.register("lost")
    world.heartbeat(ended, "inactive")
    world.clock.advance(STALE_AFTER + 1)
    world.recover()
    assert [lead(world, one).acting for one in (ended, lost)] == [False, False]


def test_a_lead_that_was_taken_by_a_clock_since_set_back_is_free(world: World) -> None:
    first, second = world.register("first"), world.register("second")
    lead(world, first)
    world.clock.advance(-3600)
    assert lead(world, second).acting
    world.clock.advance(3600)
    assert lead(world, second).acting


DUTIES: dict[str, Callable[[SqlStore, int, int], Any]] = {
    "recover": lambda store, term, worker: store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=term)),
    "give back": lambda store, term, worker: store.give_back_jobs(p.GiveBackJobs(0.0, term)),
    "expire": lambda store, term, worker: store.expire_jobs(p.ExpireJobs(term)),
    "age": lambda store, term, worker: store.age_jobs(p.AgeJobs(5.0, term)),
    "fail unroutable": lambda store, term, worker: store.fail_unroutable(
        p.FailUnroutable(
            type="stuck", queue="default", capability="general", resources=NO_RESOURCES, reason="none", term=term
        )
    ),
    "mark": lambda store, term, worker: store.mark_workers(p.MarkWorkers([worker], (), term)),
    "prune": lambda store, term, worker: store.prune_jobs(p.PruneJobs(completed_after=0, cancelled_after=0, term=term)),
}


@pytest.mark.parametrize("duty", DUTIES)
def test_what_an_old_term_wants_is_refused_and_changes_nothing(world: World, duty: str) -> None:
    old, new = world.register("old"), world.register("new")
    lead(world, old)
    world.clock.advance(LEASE)
    lead(world, new)
    done = world.add()
    world.complete(world.claim_one(new))
    world.add(type="held")
    held = world.claim_one(old)
    world.heartbeat(old)
    stuck = [world.add(type="stuck"), world.add(type="stuck", ttl=5.0)]
    world.clock.advance(STALE_AFTER + 1)
    before = [world.read(job) for job in (done, held.id, *stuck)]
    with pytest.raises(NotLeader, match="term 1 is over"):
        DUTIES[duty](world.store, 1, old).wait()
    assert [world.read(job) for job in (done, held.id, *stuck)] == before
    assert all(worker.status == "active" and not worker.failing for worker in world.store.list_workers().wait())
    DUTIES[duty](world.store, 2, old).wait()
    after = [world.find(job) for job in (done, held.id, *stuck)]
    marked = any(worker.failing for worker in world.store.list_workers().wait())
    assert marked if duty == "mark" else after != before
