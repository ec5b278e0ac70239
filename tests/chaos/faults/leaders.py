"""The worker that does the duties for all dies, or is stopped and goes on."""

from __future__ import annotations

import re

from tests.chaos.actors import Actor, until
from tests.chaos.catalogue import fault
from tests.chaos.load import standard_load
from tests.chaos.program.role import Crash
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

LEADS = re.compile(r"leads, term (\d+)")


def leader(stage: Stage) -> tuple[int, Actor | None]:
    """The newest term, and who has it."""
    found = [(int(term), actor) for actor in stage.actors for term in LEADS.findall(actor.output)]
    return max(found, key=lambda one: one[0], default=(0, None))


def some_leader(stage: Stage) -> tuple[int, Actor]:
    """One that is there to be harmed."""
    until(lambda: leader(stage)[1] in stage.live, "somebody leads")
    term, actor = leader(stage)
    assert actor is not None
    return term, actor


def await_term_after(stage: Stage, term: int) -> None:
    until(lambda: leader(stage)[0] > term, f"another leads, after term {term}")


@fault(row=20)
def leader_killed(stage: Stage) -> None:
    """The leader is killed together with another worker: a new one takes over and takes back the jobs of both."""
    stage.begin()
    for _ in range(stage.size.rounds):
        term, victim = some_leader(stage)
        until(lambda: len(stage.live) > 2, "one is left to take over")
        other = stage.dice.choice([worker for worker in stage.live if worker is not victim])
        for actor in (victim, other):
            stage.kill(actor)
        await_term_after(stage, term)
        for actor in (victim, other):
            stage.again(actor)
    settle(stage)


@fault(row=20, engines=("postgresql",))
def leader_frozen_with_a_lock(stage: Stage) -> None:
    """The leader stands still in the middle of a transaction, as when its machine is cut off: another takes over."""
    stage.start_worker(1, freeze=Crash("stale_workers", nth=3), address=stage.place.address(timeout="2s"))
    some_leader(stage)
    for number in (2, 3):
        stage.start_worker(number)
    stage.enqueue(standard_load(stage.dice, stage.size.jobs))
    await_term_after(stage, 1)
    stage.resume(stage.workers[1])
    settle(stage)


@fault(row=20, short=("postgresql",))
def leader_stopped(stage: Stage) -> None:
    """The leader is stopped until another leads, and goes on: it does nothing more in its old term."""
    stage.begin()
    for _ in range(stage.size.rounds):
        term, victim = some_leader(stage)
        stage.pause(victim)
        await_term_after(stage, term)
        stage.wait(stage.dice.uniform(0.0, 0.3))
        stage.resume(victim)
        stage.wait(stage.dice.uniform(0.1, 0.5))
    settle(stage)
