"""Work that nobody is told of: it is found by looking."""

from __future__ import annotations

from tests.chaos.catalogue import fault
from tests.chaos.load import standard_load
from tests.chaos.settle import settle
from tests.chaos.stage import Stage


def _begin(stage: Stage, worker_address: str, client_address: str) -> None:
    for number in range(1, stage.size.workers + 1):
        stage.start_worker(number, wait=False, deaf=True, address=worker_address)
    for worker in stage.workers.values():
        worker.wait_started()
    stage.enqueue(standard_load(stage.dice, stage.size.jobs), address=client_address)


@fault(row=12, short=("postgresql",))
def hints_lost(stage: Stage) -> None:
    """Workers listen, and every hint to them is lost: on SQLite nobody knows their bell, on PostgreSQL nobody rings."""
    _begin(stage, stage.place.address(), stage.place.address(notify="off"))
    settle(stage, all_counted=True)


@fault(row=12, engines=("postgresql",), short=())
def hints_off(stage: Stage) -> None:
    """Notifications are switched off everywhere, as behind a transaction pooler."""
    _begin(stage, stage.place.address(notify="off"), stage.place.address(notify="off"))
    settle(stage, all_counted=True)
