"""Workers that are stopped for longer than their lease, and then go on as if nothing had happened."""

from __future__ import annotations

from tests.chaos.actors import Actor, until
from tests.chaos.catalogue import fault
from tests.chaos.load import Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

LONG_MS = 400
"""Long enough that a worker which is stopped most likely holds one."""


@fault(row=3)
def zombie(stage: Stage) -> None:
    """Workers are stopped until others have their jobs, and continued."""
    long = [
        Plan(id=new_id(stage.dice), type=stage.dice.choice(("plain", "exact", "exact_thread")),
             payload={"ms": LONG_MS}, parcel=number)
        for number in range(stage.size.jobs // 5)
    ]  # fmt: skip
    stage.begin([*standard_load(stage.dice, stage.size.jobs // 2), *long])
    for _ in range(stage.size.rounds):
        victim = stage.dice.choice(stage.live)
        stage.pause(victim)
        await_status(stage, victim, "lost")
        stage.wait(stage.dice.uniform(0.0, 0.5))
        stage.resume(victim)
        await_status(stage, victim, "active")
    settle(stage)


def status_of(stage: Stage, worker: Actor) -> str | None:
    """Of its newest registration."""
    return next((row.status for row in stage.store.list_workers().wait() if row.pid == worker.pid), None)


def await_status(stage: Stage, worker: Actor, status: str) -> None:
    until(lambda: status_of(stage, worker) == status, f"{worker.name} is {status} in the store")
