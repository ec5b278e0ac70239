"""Nothing is stuck: after an interleaving a new worker and the duties bring everything to its end."""

from __future__ import annotations

from penstock.domain.errors import PenstockError
from penstock.domain.options import NO_RESOURCES
from penstock.store import contract as p
from tests.contract.world import STALE_AFTER, World
from tests.nets.invariants import Judge
from tests.nets.stage import PAUSED

ROUNDS_MAX = 12
STEP_SECONDS = 20_000.0


def work_off(world: World, judge: Judge) -> list[str]:
    """What is found: an innocent job that is not given out, an error, or something that never ends."""
    try:
        return _work_off(world, judge)
    except PenstockError as error:
        return [f"afterwards: {type(error).__name__}: {error}"]


def _work_off(world: World, judge: Judge) -> list[str]:
    world.resume("queue", "default")
    world.resume("type", PAUSED)
    session = world.register("three", stale_after=1e9)
    innocent = world.add(priority=100)
    if innocent not in [claim.id for claim in _work(world, session)]:
        return [f"afterwards: an innocent job is not given out: {innocent}"]
    for _ in range(ROUNDS_MAX):
        _duties(world)
        while _work(world, session):
            pass
        seen = judge.look()
        if not (seen.leases or seen.waiting or seen.running):
            return [f"afterwards, {found}" for found in judge.integrity()]
        world.clock.advance(STEP_SECONDS)
    return [
        f"afterwards: after {ROUNDS_MAX} rounds there are still {len(seen.waiting)} jobs that wait, "
        f"{len(seen.leases)} leases, {seen.running} workflows: {[*seen.waiting, *seen.leases.values()][:3]}"
    ]


def _work(world: World, session: int) -> list[p.Claim]:
    claims = world.claim(session)
    if claims:
        done = [p.Completed(one.token, 1, member=one.id if one.parent else None) for one in claims]
        world.store.finish_jobs(p.FinishJobs(done)).wait()
    return claims


def _duties(world: World) -> None:
    """As the leader does them."""
    store = world.store
    store.recover_jobs(p.RecoverJobs(STALE_AFTER)).wait()
    store.give_back_jobs(p.GiveBackJobs(STALE_AFTER)).wait()
    store.expire_jobs(p.ExpireJobs()).wait()
    store.age_jobs(p.AgeJobs(60.0)).wait()
    unroutable = p.FailUnroutable(
        type="nobody's", queue="default", capability="general", resources=NO_RESOURCES, reason="nobody"
    )
    store.fail_unroutable(unroutable).wait()
    store.tend_gates(p.TendGates()).wait()
    store.settle_workflows(p.SettleWorkflows()).wait()
