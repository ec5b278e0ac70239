"""Child processes that crash, or are killed as by a system without memory."""

from __future__ import annotations

import signal

from penstock import State
from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.load import LOAD_TYPES, Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.postgres.processes import children, send_all

CRASH_ATTEMPTS = 2
CHILDREN = 2
TYPES = [*LOAD_TYPES, "crunch", "crash_child"]


@fault(row=19, short=("sqlite",))
def child_dies(stage: Stage) -> None:
    """Jobs crash their own process, and others are killed: each pays its own attempt, and neighbours nothing."""
    crashing = [
        Plan(id=new_id(stage.dice), type="crash_child", payload={"signal_number": int(number)},
             attempts=CRASH_ATTEMPTS, ending="dead", parcel=number)
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT)
    ]  # fmt: skip
    crunching = [
        Plan(id=new_id(stage.dice), type="crunch", payload={"ms": 50}, parcel=number)
        for number in range(stage.size.jobs // 5)
    ]
    load = standard_load(stage.dice, stage.size.jobs // 3)
    stage.begin([*crunching[::2], *crashing, *load, *crunching[1::2]],
                settings={"types": TYPES, "process_slots": CHILDREN})  # fmt: skip
    stage.while_loading(0.3, 0.8, lambda: _kill_some_child(stage))
    truth = settle(stage)
    for plan in crashing:
        job = truth.jobs[plan.id]
        if (job.state, job.attempt, job.crashes) != (State.DEAD, CRASH_ATTEMPTS, CRASH_ATTEMPTS):
            raise Broken(f"a job that crashed its process is {job.state}, attempt {job.attempt}, crashes {job.crashes}")
    for job in truth.of_type(*LOAD_TYPES):
        if job.crashes:
            raise Broken(f"the neighbour {job.type} {job.id} has {job.crashes} crashes")


def _kill_some_child(stage: Stage) -> None:
    found = [pid for worker in stage.live for pid in children(worker.pid)]
    if found:
        send_all([stage.dice.choice(found)], signal.SIGKILL)
