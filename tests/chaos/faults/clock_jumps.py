"""Clocks that are set forward and back by minutes and by an hour while jobs run."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.catalogue import fault
from tests.chaos.faults.server import move_to, on_postgres
from tests.chaos.load import standard_load
from tests.chaos.program.clocks import set_wrong
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.postgres.server import Server

MINUTE, HOUR = 60.0, 3600.0
STEPS = (HOUR, -HOUR, 5 * MINUTE, -5 * MINUTE, 0.0)


@fault(row=16)
def clocks_jump(stage: Stage) -> None:
    """The clocks of workers jump, forward and back; each machine of its own, or one machine as a whole."""
    together = stage.place.engine == "sqlite"  # One file means one machine, and that has one clock, the store's too.
    files = [stage.folder / f"clock-{number}" for number in range(1, stage.size.workers + 1)]
    for number, file in enumerate(files, 1):
        set_wrong(file, 0.0)
        clock = files[0] if together else file
        stage.start_worker(number, wait=False, clock=str(clock), store_clock=together)
    for worker in stage.workers.values():
        worker.wait_started()
    on_one_machine = {"clock": str(files[0]), "store_clock": True} if together else {}
    stage.enqueue(standard_load(stage.dice, stage.size.jobs), **on_one_machine)
    # What was due in an hour by the wrong clock is due soon by the right one only if that is not behind.
    stage.healing.append(lambda: set_wrong(files[0], HOUR))
    stage.bounds = replace(stage.bounds, clocks_jump=True, pickup_us=None)
    stage.while_loading(0.5, 1.0, lambda: set_wrong(stage.dice.choice(files), stage.dice.choice(STEPS)))
    settle(stage)


@fault(row=16, engines=("postgresql",), rare=True)
def server_clock_steps(stage: Stage) -> None:
    """The clock of the server, by which the store goes, is set forward and back under everybody."""
    server = stage.enter(Server(on_postgres(stage).server.version, wrong_clock=True))
    move_to(stage, server)
    stage.healing.append(lambda: server.set_clock(HOUR))  # What was due in an hour by the wrong clock is due soon then.
    stage.bounds = replace(stage.bounds, clocks_jump=True, pickup_us=None)
    stage.begin()
    stage.while_loading(0.3, 1.0, lambda: server.set_clock(stage.dice.choice(STEPS)))
    settle(stage)
