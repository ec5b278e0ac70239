"""People who cancel jobs, or delete them by hand, while they run."""

from __future__ import annotations

from msgspec.structs import replace

from penstock import State
from penstock.store.contract import ListJobs
from tests.chaos.catalogue import fault
from tests.chaos.load import Plan, new_id, standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

ACTIVE = frozenset({State.CLAIMED, State.RUNNING})
OPEN = ACTIVE | {State.PENDING, State.SCHEDULED}
LONG_MS = 250


def begin(stage: Stage) -> None:
    long = [
        Plan(id=new_id(stage.dice), type=stage.dice.choice(("plain", "exact", "exact_thread")),
             payload={"ms": LONG_MS}, parcel=number)
        for number in range(stage.size.jobs // 4)
    ]  # fmt: skip
    stage.begin([*long[::2], *standard_load(stage.dice, stage.size.jobs // 2), *long[1::2]])


def some_job(stage: Stage, states: frozenset[State]) -> str | None:
    found = stage.store.list_jobs(ListJobs(states=states, limit=100)).wait()
    return stage.dice.choice(found).id if found else None


@fault(row=21, short=("postgresql",))
def cancelled_while_running(stage: Stage) -> None:
    """Waiting and running jobs are cancelled at random: each that had not ended ends cancelled."""

    def harm() -> None:
        id = some_job(stage, OPEN if stage.dice.random() < 0.3 else ACTIVE)
        # A tick of the schedule is nobody's plan: the checker wants each of them to have run.
        if id is not None and id in stage.plans and stage.app.get(id).cancel().before in OPEN:
            stage.plans[id] = replace(stage.plans[id], ending="cancelled")

    begin(stage)
    stage.while_loading(0.02, 0.1, harm)
    settle(stage)


@fault(row=21, short=("sqlite",))
def deleted_while_running(stage: Stage) -> None:
    """Rows of running jobs are deleted by hand: their workers go on with the others."""
    removed: set[str] = set()

    def harm() -> None:
        id = some_job(stage, ACTIVE)
        if id is not None:
            with stage.store.transaction() as tx:
                if not tx.execute(stage.place.taking, {"id": id}):
                    return  # It has ended meanwhile, and what it led to is there.
                for statement in stage.place.deletion:
                    tx.execute(statement, {"id": id})
            removed.add(id)

    begin(stage)
    stage.while_loading(0.05, 0.2, harm)
    settle(stage, removed=removed)
