"""Workers that are asked to stop in the middle of jobs, once or twice."""

from __future__ import annotations

import signal

from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

CALM = {"heartbeat_interval": 10.0, "recovery_interval": 5.0}
"""Nobody dies here, so nobody may be declared lost."""


@fault(row=4)
def orderly_stop(stage: Stage) -> None:
    """SIGTERM in the middle of jobs, every second time twice: no attempt is spent and nothing counts as a crash."""

    def harm() -> None:
        victim = stage.victim()
        if victim is None:
            return
        stage.wait(stage.dice.uniform(0.0, 0.3))
        victim.send(signal.SIGTERM)
        if stage.dice.random() < 0.5:
            stage.wait(stage.dice.uniform(0.0, 0.05))
            if victim.lives:
                victim.send(signal.SIGTERM)
        # A second signal may come when all is done and nobody listens any more.
        if victim.wait() not in (0, -signal.SIGTERM) or not victim.said("stopped"):
            raise Broken(f"{victim.name} was asked to stop and ended with code {victim.code}")
        stage.again(victim)

    stage.begin(settings=CALM)
    stage.while_loading(0.1, 0.3, harm)
    truth = settle(stage, all_counted=True)
    for job in truth.jobs.values():
        if job.crashes or (job.attempt > 1 and job.type not in ("shaky", "broken")):
            raise Broken(f"{job.type} {job.id} has {job.attempt} attempts and {job.crashes} crashes, by orderly stops")
