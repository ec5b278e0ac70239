"""What is done for all where no worker runs all the time, with real processes (A4, A9, A10, R5)."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from textwrap import dedent

import pytest

from penstock import App, ConfigError, JobExpired, JobFailed, State, StoreMissing
from penstock.observe.stuck import takers_among
from penstock.store.contract import DrainWorker, ListDead
from tests.contract.engines import Engine
from tests.e2e.processes import PATIENCE_SECONDS, Process, Processes, until

pytestmark = pytest.mark.turns

BRISK = {"heartbeat_interval": 0.3, "recovery_interval": 0.1, "leader_lease": 0.5}

HASTY = """
    @app.job(no_worker="fail")
    async def hasty() -> int:
        return 7
"""

GATED = """
    @app.job(attempts=3, backoff=Fixed(0))
    async def gated(gate: str) -> int:
        attempt = penstock.current().attempt
        say("begun", attempt)
        while attempt == 1 and not os.path.exists(gate):
            await asyncio.sleep(0.01)
        return attempt
"""

RUN_COORDINATOR = """
asyncio.run(app.run_coordinator(**settings))
app.close()
say("returned")
"""

COMMAND = """
os.execv(sys.executable, [sys.executable, "-m", "penstock", "coordinator", "--store", sys.argv[1]])
"""


def kill_a_worker_in_its_job(app: App, processes: Processes, gate: str) -> str:
    """The id of a job whose worker is dead."""
    worker = processes.worker(GATED, **BRISK)
    job = app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun 1")
    worker.send(signal.SIGKILL)
    worker.wait()
    return job.id


def coordinator(processes: Processes, **settings: object) -> Process:
    started = processes.script(RUN_COORDINATOR, **{**BRISK, **settings})
    started.wait_for("coordinator ")
    started.wait_for(" started on ")
    return started


# Nobody at all


def test_without_any_worker_a_job_that_does_not_wait_is_dead_at_once(app: App, processes: Processes) -> None:
    processes.worker(HASTY).stop()
    job = app.enqueue("hasty")
    read = job.read()
    assert (read.state, read.decided_by) == (State.DEAD, "routing")
    assert read.reason == "no workers available: no worker is running"
    with pytest.raises(JobFailed, match="NoEligibleWorker"):
        job.result(timeout=0)
    assert [letter.id for letter in app.store.list_dead(ListDead()).wait().jobs] == [job.id]
    processes.worker(HASTY)
    assert app.enqueue("hasty").result(timeout=30) == 7


def test_without_any_worker_a_job_expires_and_whoever_waits_for_it_is_told(app: App) -> None:
    job = app.enqueue("task", ttl=0.5)
    assert job.state() is State.PENDING
    with pytest.raises(JobExpired, match="time-to-live"):
        job.result(timeout=30)
    assert (job.state(), job.read().decided_by) == (State.EXPIRED, "ttl")


# Burst workers, as cron starts them


def burst(processes: Processes, handlers: str, **settings: object) -> Process:
    """One run to its end."""
    run = processes.launch(handlers, burst=True, **{**BRISK, **settings})
    run.wait_for("worker returned")
    return run


def test_burst_workers_recover_the_jobs_of_one_that_was_killed(app: App, processes: Processes, gate: str) -> None:
    job = app.get(kill_a_worker_in_its_job(app, processes, gate))
    # Its lead lasts for its lease, and it is lost after three heartbeats: an early run leaves it alone.
    until(lambda: burst(processes, GATED) and job.state() is State.COMPLETED, "a later run has run it again")
    assert job.result(timeout=0) == 2
    assert {worker.status for worker in app.store.list_workers().wait()} == {"lost", "inactive"}


def test_a_burst_worker_moves_what_has_expired(app: App, processes: Processes) -> None:
    job = app.enqueue("strange", ttl=0.01)
    until(lambda: job.state() is State.EXPIRED, "its time is over")
    burst(processes, GATED)
    assert [letter.id for letter in app.store.list_dead(ListDead()).wait().jobs] == [job.id]


def test_a_burst_worker_with_nobody_to_judge_does_not_wait_for_its_heartbeat(app: App, processes: Processes) -> None:
    run = burst(processes, GATED, heartbeat_interval=3600.0, leader_lease=3600.0)
    assert run.wait() == 0
    assert burst(processes, GATED, leader_lease=3600.0).wait() == 0  # The first has given up its lead.


# A coordinator, which runs no jobs


def test_a_coordinator_recovers_and_expires(app: App, processes: Processes, gate: str) -> None:
    lost = app.get(kill_a_worker_in_its_job(app, processes, gate))
    late = app.enqueue("strange", ttl=0.01)
    running = coordinator(processes)
    running.wait_for("recovered 1 job of lost workers")
    until(lambda: [one.id for one in app.store.list_dead(ListDead()).wait().jobs] == [late.id], "it has expired")
    assert lost.state() is State.PENDING
    processes.worker(GATED, **BRISK)
    assert lost.result(timeout=30) == 2
    running.stop()


def test_a_coordinator_knows_what_its_app_declares(app: App, processes: Processes) -> None:
    """Without it nobody would know that the type does not wait: no worker has ever been there."""
    app.store.migrate()
    started = processes.script(dedent(HASTY) + RUN_COORDINATOR, **BRISK)
    started.wait_for(" started on ")
    job = app.enqueue("hasty", delay="500ms")
    until(lambda: job.state() is State.DEAD, "the leader has judged it")
    assert job.read().decided_by == "routing"


def test_a_coordinator_installs_what_its_app_schedules(app: App, processes: Processes) -> None:
    app.store.migrate()
    nightly = 'app.schedule("nightly", job=hasty.bind(), cron="0 3 * * *")\n'
    processes.script(dedent(HASTY) + nightly + RUN_COORDINATOR, **BRISK).wait_for(" started on ")
    until(lambda: [one.name for one in app.schedules.list()] == ["nightly"], "it is installed")


def test_a_coordinator_is_no_worker(app: App, processes: Processes) -> None:
    processes.worker(HASTY).stop()
    coordinator(processes)
    listed = [worker for worker in app.store.list_workers().wait() if worker.live]
    assert [worker.coordinates for worker in listed] == [True]
    assert takers_among(listed) == []
    assert app.enqueue("hasty").read().reason == "no workers available: no worker is running"


def test_a_coordinator_that_stops_leaves_the_lead_to_the_next(app: App, processes: Processes) -> None:
    app.store.migrate()
    first = coordinator(processes, leader_lease=3600.0)
    first.wait_for(" leads, term 1")
    first.stop()
    assert first.printed("returned")
    coordinator(processes, leader_lease=3600.0).wait_for(" leads, term 2")
    assert sorted(worker.status for worker in app.store.list_workers().wait()) == ["active", "inactive"]


def test_the_command_needs_nothing_but_the_store(app: App, processes: Processes) -> None:
    late = app.enqueue("strange", ttl=0.01)
    command = processes.script(COMMAND)
    command.wait_for("runs no jobs")
    command.wait_for(" leads, term 1")
    until(lambda: [one.id for one in app.store.list_dead(ListDead()).wait().jobs] == [late.id], "it has expired")
    command.stop()
    assert {worker.status for worker in app.store.list_workers().wait()} == {"inactive"}


def test_a_coordinator_makes_no_store(engine: Engine, tmp_path: Path) -> None:
    address = engine.fresh(tmp_path)
    app = App(address)
    try:
        with pytest.raises(StoreMissing, match=r"a coordinator makes none; .* make one with: penstock migrate"):
            asyncio.run(asyncio.wait_for(app.run_coordinator(), PATIENCE_SECONDS))
        assert app.store.migration_status().current == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        app.close()
        engine.drop(address)


def test_a_killed_coordinator_can_be_started_under_its_id_at_once(app: App, processes: Processes) -> None:
    app.store.migrate()
    settings = {"worker_id": "keeper", "heartbeat_interval": 3600.0}
    first = coordinator(processes, **settings)
    first.wait_for("coordinator keeper leads, term 1")
    refused = processes.script(RUN_COORDINATOR, **{**BRISK, **settings})
    assert refused.wait() != 0
    refused.wait_for("WorkerRefused")
    assert not refused.printed("coordinator keeper stopped")  # It never started.
    first.send(signal.SIGKILL)
    first.wait()
    coordinator(processes, **settings).stop()


def test_a_coordinator_refuses_what_means_nothing_to_it(app: App) -> None:
    for name, value in {"burst": True, "concurrency": 4, "queues": "mail", "cocnurrency": 4}.items():
        with pytest.raises(ConfigError, match=f"'{name}' means nothing to a coordinator, which takes: worker_id, "):
            asyncio.run(asyncio.wait_for(app.run_coordinator(**{name: value}), PATIENCE_SECONDS))


def test_a_coordinator_stops_when_it_is_told_to_drain(app: App, processes: Processes) -> None:
    app.store.migrate()
    running = coordinator(processes, worker_id="keeper")
    running.wait_for(" leads, term 1")
    app.store.drain_worker(DrainWorker("keeper", actor="ann")).wait()
    assert running.wait() == 0
