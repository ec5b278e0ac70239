"""Async handlers that block the event loop for several leases."""

from __future__ import annotations

from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.load import LOAD_TYPES, Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

BLOCKERS = 2


@fault(row=17, short=("sqlite",))
def blocked_loop(stage: Stage) -> None:
    """Handlers block the event loop of their worker for three leases: it is not lost, and no job is run twice."""
    blockers = [
        Plan(id=new_id(stage.dice), type="blocker", payload={"seconds": 3 * stage.size.lease}, parcel=number)
        for number in range(BLOCKERS)
    ]
    load = standard_load(stage.dice, stage.size.jobs // 2)
    stage.begin([*load[:10], *blockers, *load[10:]], settings={"types": [*LOAD_TYPES, "blocker"]})
    truth = settle(stage)
    for plan in blockers:
        job = truth.jobs[plan.id]
        if (job.attempt, job.crashes) != (1, 0):
            raise Broken(f"the job that blocked the loop had {job.attempt} attempts and {job.crashes} crashes")
    lost = [worker.id for worker in stage.store.list_workers().wait() if worker.status == "lost"]
    if lost:
        raise Broken(f"a worker whose event loop was blocked was declared lost: {lost}")
