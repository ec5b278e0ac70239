"""Many processes on one SQLite file."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

BUSY = ("StoreBusy", "database is locked", "could not claim", "not stored yet", "heartbeat not stored")


@fault(row=13, engines=("sqlite",))
def many_processes(stage: Stage) -> None:
    """Twice as many processes write as fast as they can: nobody is ever told that the file is busy."""
    stage.size = replace(stage.size, workers=2 * stage.size.workers, clients=2 * stage.size.clients, seconds=0.5)
    stage.begin()
    settle(stage, all_counted=True)
    for actor in stage.actors:
        for words in BUSY:
            if actor.said(words):
                raise Broken(f"{actor.name} was told of a busy file: {words!r} is in its log")
