"""Clients that die while they enqueue, and send everything again with the same ids."""

from __future__ import annotations

from tests.chaos.actors import Actor
from tests.chaos.catalogue import fault
from tests.chaos.program.crashes import CLIENT_POINTS
from tests.chaos.program.role import Crash
from tests.chaos.settle import settle
from tests.chaos.stage import Stage


@fault(row=5)
def client_killed(stage: Stage) -> None:
    """Clients are killed, or end before or after a commit, and send again: one job per id."""

    def crash() -> Crash:
        return Crash(stage.dice.choice(CLIENT_POINTS), stage.dice.randint(1, 20))

    def crashed(client: Actor) -> None:
        stage.again(client, crash=crash() if len(stage.actors) < most else None)

    most = len(stage.actors) + 5 * stage.size.rounds
    stage.on_crash = crashed
    stage.begin()
    while stage.loading() and len(stage.actors) < most:
        stage.wait(stage.dice.uniform(0.3, 0.8))
        victims = [client for client in stage.clients.values() if client.lives]
        if victims:
            victim = stage.dice.choice(victims)
            stage.kill(victim)
            stage.again(victim, crash=crash())
    settle(stage)
