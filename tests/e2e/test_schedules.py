"""Schedules with real workers: each tick once, whoever leads and whoever dies; a bad job does not stop its schedule."""

from __future__ import annotations

import signal
from itertools import pairwise

import pytest

from penstock import App, Job, State
from penstock.domain.clock import to_us
from penstock.store.contract import ListJobs
from tests.e2e.processes import Process, Processes, until
from tests.e2e.test_lost_workers import QUICK_RECOVERY

pytestmark = pytest.mark.turns

TICKING = """
@app.job
async def tick(number: int) -> int:
    return number

app.schedule("ticking", job=tick.bind(7), every="1s", misfire="all")
"""


def jobs_of(app: App, schedule: str) -> list[Job]:
    return app.store.list_jobs(ListJobs(tag=f"schedule:{schedule}", limit=1000)).wait()


def tick_ms(job: Job) -> int:
    """Its tick, which is a part of its id: a job that the killed worker had is due later by now."""
    return int(job.id.replace("-", "")[:12], 16)


def leader_among(workers: list[Process]) -> Process:
    until(lambda: any(worker.printed(" leads, term ") for worker in workers), "one of them leads")
    return next(worker for worker in workers if worker.printed(" leads, term "))


def test_each_tick_makes_one_job_also_when_the_leader_is_killed(app: App, processes: Processes) -> None:
    workers = [processes.worker(TICKING, **QUICK_RECOVERY) for _ in range(2)]
    assert sum(len(worker.printed("schedule ticking installed")) for worker in workers) == 1
    until(lambda: len(jobs_of(app, "ticking")) >= 2, "it fires")
    leader = leader_among(workers)
    leader.send(signal.SIGKILL)
    leader.wait()
    seen = len(jobs_of(app, "ticking"))
    (other,) = [worker for worker in workers if worker is not leader]
    until(lambda: len(jobs_of(app, "ticking")) >= seen + 3, "another has taken over")
    other.stop()
    ticks = sorted(tick_ms(job) for job in jobs_of(app, "ticking"))
    assert {second - first for first, second in pairwise(ticks)} == {1000}
    found = app.schedules.get("ticking")
    assert (found.fires, found.status) == (len(ticks), "active")
    assert found.last_at is not None
    assert to_us(found.last_at) // 1000 == ticks[-1]


def test_a_payload_that_no_longer_decodes_does_not_stop_the_schedule(app: App, processes: Processes) -> None:
    call = app.client.call_by_name("tick", {"number": "seven"}, {}, {})
    app.schedules.add("broken", job=call, every="1s")
    worker = processes.worker(TICKING, **QUICK_RECOVERY)

    def dead() -> list[Job]:
        return [job for job in jobs_of(app, "broken") if job.state is State.DEAD]

    until(lambda: len(dead()) >= 2, "its jobs die, and it goes on")
    first = dead()[0]
    assert first.tags == ("schedule:broken",)
    assert first.error is not None
    assert (first.error.type.rpartition(".")[2], first.attempt) == ("PayloadError", 1)
    assert "number" in first.error.message
    until(lambda: any(job.state is State.COMPLETED for job in jobs_of(app, "ticking")), "others are not held up")
    worker.stop()


def test_a_schedule_outlives_the_process_that_declared_it(app: App, processes: Processes) -> None:
    first = processes.worker(TICKING, **QUICK_RECOVERY)
    until(lambda: bool(jobs_of(app, "ticking")), "it fires")
    first.stop()
    assert app.schedules.get("ticking").status == "active"
    seen = len(jobs_of(app, "ticking"))
    plain = processes.worker(TICKING.partition("app.schedule")[0], **QUICK_RECOVERY)
    until(lambda: len(jobs_of(app, "ticking")) > seen, "a worker that does not declare it fires it")
    plain.stop()
