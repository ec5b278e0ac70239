"""One run of one fault: a fresh place, a stage, the fault, and a report that can be replayed if it fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.actors import Actor, Broken
from tests.chaos.catalogue import Fault
from tests.chaos.figures import Figures
from tests.chaos.places import EngineName, Place, PostgresPlace, SqlitePlace
from tests.chaos.sizes import FULL, Size
from tests.chaos.stage import Stage
from tests.chaos.watch import Watch
from tests.postgres.server import Server

LOGS_SHOWN = 6


@dataclass(frozen=True)
class Outcome:
    """`problem` is the whole story of what went wrong, or None."""

    fault: Fault
    engine: EngineName
    seed: int
    figures: Figures
    seconds: float
    problem: str | None


def replay_command(fault: Fault, engine: EngineName, seed: int, size: Size) -> str:
    short = "" if size is FULL else " SIZE=short"
    return f"make chaos SEED={seed} FAULT={fault.name} ENGINE={engine}{short}"


def run_fault(
    fault: Fault, engine: EngineName, size: Size, seed: int, folder: Path, server: Callable[[], Server]
) -> Outcome:
    """What happened. `server` gives the PostgreSQL server of all runs, started when it is first needed."""
    began = time.monotonic()
    replay = replay_command(fault, engine, seed, size)
    place: Place = SqlitePlace(folder) if engine == "sqlite" else PostgresPlace(server())
    figures, problem = Figures(), None
    try:
        with Stage(place, size, seed, f"{seed}/{fault.name}/{engine}", replay, folder) as stage:
            try:
                with Watch(place) as watch:
                    fault.run(stage)
                watch.check()
            except Exception as error:
                problem = story(fault, engine, error, stage)
            figures = stage.figures
    finally:
        place.close()
    return Outcome(fault, engine, seed, figures, time.monotonic() - began, problem)


def story(fault: Fault, engine: EngineName, error: Exception, stage: Stage) -> str:
    """What broke, how to see it again, and what the processes said."""
    expected = isinstance(error, Broken | AssertionError)
    what = str(error) if expected else f"{type(error).__name__}: {error}"
    head = [
        f"{fault.name} on {engine} (row {fault.row}: {fault.story})",
        what,
        f"seed {stage.seed}; again: {stage.replay}",
        f"histories and logs: {stage.folder}",
    ]
    return "\n".join([*head, *map(_log, _worth_showing(stage.actors))])


def _worth_showing(actors: list[Actor]) -> list[Actor]:
    """Those that ended badly, else the last ones that had something to say."""
    odd = [actor for actor in actors if actor.died_by_itself]
    return (odd or [actor for actor in actors if actor.tail])[-LOGS_SHOWN:]


def _log(actor: Actor) -> str:
    return f"--- {actor.name}, the end of its log ---\n{actor.tail}"
