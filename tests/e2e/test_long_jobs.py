"""A job that runs for many leases runs once, as long as its worker is alive: also when it blocks the event loop."""

from __future__ import annotations

import pytest

from penstock import App, State
from tests.e2e.processes import Processes

pytestmark = pytest.mark.turns

QUICK_RECOVERY = {"heartbeat_interval": 0.2, "recovery_interval": 0.1, "leader_lease": 0.3}
STALE_SECONDS = 0.6


def test_a_job_of_five_stale_periods_runs_once(app: App, processes: Processes) -> None:
    handlers = """
    @app.job(attempts=3)
    async def long(seconds: float) -> str:
        say("begun")
        await asyncio.sleep(seconds)
        return "once"

    @app.job(attempts=3)
    def long_in_thread(seconds: float) -> str:
        say("begun")
        time.sleep(seconds)
        return "once"
    """
    workers = [processes.worker(handlers, **QUICK_RECOVERY) for _ in range(2)]
    jobs = [app.enqueue(name, {"seconds": 5 * STALE_SECONDS}) for name in ("long", "long_in_thread")]
    assert [job.result(timeout=30) for job in jobs] == ["once", "once"]
    assert sum(len(worker.printed("begun")) for worker in workers) == 2
    assert [(job.read().attempt, job.read().crashes) for job in jobs] == [(1, 0), (1, 0)]
    assert {row.status for row in app.store.list_workers().wait()} == {"active"}


def test_a_blocked_event_loop_is_named_and_its_job_runs_once(app: App, processes: Processes) -> None:
    handlers = """
    @app.job(attempts=3)
    async def blocking(seconds: float) -> str:
        say("begun")
        time.sleep(seconds)  # the line to blame
        return "once"
    """
    workers = [processes.worker(handlers, **QUICK_RECOVERY) for _ in range(2)]
    job = app.enqueue("blocking", {"seconds": 3 * STALE_SECONDS})
    assert job.result(timeout=30) == "once"
    assert sum(len(worker.printed("begun")) for worker in workers) == 1
    assert (job.read().state, job.read().attempt, job.read().crashes) == (State.COMPLETED, 1, 0)
    blocked = next(worker for worker in workers if worker.printed("begun"))
    warning = blocked.wait_for("the event loop has been blocked")
    assert "by the handler of 'blocking'" in warning
    script, line = blocked.place_of("# the line to blame")
    assert f"{script}:{line};" in warning
    assert "declare the handler with plain `def`" in warning
