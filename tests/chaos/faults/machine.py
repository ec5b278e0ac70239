"""The machine itself: a virtual one that is paused, with everything on it, and resumed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from tests.chaos.catalogue import fault
from tests.chaos.places import PostgresPlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage


@fault(row=29, rare=True)
def machine_paused(stage: Stage) -> None:
    """Workers, clients and the server stand still for longer than leases and heartbeats, and go on."""
    stage.bounds = replace(stage.bounds, pickup_us=None)  # Nobody is there to pick them up.
    stage.begin()
    for _ in range(max(2, stage.size.rounds // 2)):
        stage.wait(stage.dice.uniform(0.2, 0.8))
        _pause(stage, stage.dice.uniform(1.2, 3.0) * stage.size.lease)
    settle(stage)


def _pause(stage: Stage, seconds: float) -> None:
    """Wherever they are, locks in their hands or not: nobody is left to miss them."""
    actors = [one for one in (*stage.workers.values(), *stage.clients.values()) if one.lives]
    stage.dice.shuffle(actors)
    with ExitStack() as frozen:
        for actor in actors:
            stage.pause(actor, anywhere=True)
            frozen.callback(stage.resume, actor)
        if isinstance(stage.place, PostgresPlace):
            frozen.enter_context(stage.place.server.suspended())
        stage.wait(seconds)
