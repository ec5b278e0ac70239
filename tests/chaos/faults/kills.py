"""Workers that die without a word."""

from __future__ import annotations

from dataclasses import replace

from penstock import State
from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.load import LOAD_TYPES, Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

KILLERS = 2
KILLER_ATTEMPTS = 3


@fault(row=1)
def worker_killed(stage: Stage) -> None:
    """Workers are killed at random and started again."""

    def harm() -> None:
        victim = stage.victim()
        if victim is not None:
            stage.kill(victim)
            stage.again(victim)

    stage.begin()
    stage.while_loading(0.5, 1.0, harm)
    settle(stage)


@fault(row=1, short=("sqlite",))
def all_workers_killed(stage: Stage) -> None:
    """All workers are killed at the same moment, and nobody works for a while."""

    def harm() -> None:
        victims = stage.live
        for victim in victims:
            stage.kill(victim)
        stage.wait(stage.dice.uniform(0.0, stage.size.lease))
        for victim in victims:
            stage.again(victim)

    stage.bounds = replace(stage.bounds, pickup_us=None)  # Nobody is there to pick them up.
    stage.begin()
    for _ in range(max(1, stage.size.rounds // 2)):
        stage.wait(stage.dice.uniform(0.5, 1.0))
        harm()
    settle(stage)


@fault(row=1, short=("postgresql",))
def killer_job(stage: Stage) -> None:
    """A job takes its worker along each time: it ends dead, and its neighbours complete."""
    killers = [
        Plan(id=new_id(stage.dice), type="killer", payload={}, attempts=KILLER_ATTEMPTS, ending="dead", parcel=number)
        for number in range(KILLERS)
    ]
    load = standard_load(stage.dice, stage.size.jobs // 2)
    stage.begin([*load[:20], *killers, *load[20:]], settings={"types": [*LOAD_TYPES, "killer"]})
    truth = settle(stage)
    for plan in killers:
        job = truth.jobs[plan.id]
        if (job.state, job.attempt, job.crashes) != (State.DEAD, KILLER_ATTEMPTS, KILLER_ATTEMPTS):
            raise Broken(f"the killer {job.id} is {job.state} after {job.attempt} attempts and {job.crashes} crashes")
