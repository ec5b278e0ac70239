"""What a command does to jobs is told as what a program does, to whoever has set up a log, and only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App, State
from penstock.domain.options import Tenant, make_options
from penstock.store.contract import ClaimJobs, RegisterWorker

LOGGED = """
import logging, sys
logging.basicConfig(level="DEBUG", stream=sys.stderr, format="%(levelname)s %(name)s %(event)s %(job_id)s")
logging.getLogger().handlers[0].addFilter(lambda record: record.name.startswith("penstock.job"))
from penstock.__main__ import main
main()
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(f"sqlite:///{tmp_path}/jobs.db")


def told(app: App, *words: str) -> list[str]:
    """The lines about jobs that a command logs."""
    env = {**os.environ, "PENSTOCK_STORE": f"sqlite:///{app.store.address}"}
    done = subprocess.run(
        [sys.executable, "-c", LOGGED, *words], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    return [line for line in done.stderr.splitlines() if " penstock.job." in line]


def test_what_kills_or_moves_jobs_says_so(app: App) -> None:
    waiting = app.enqueue("task", {}, tenant=Tenant("acme")).id
    assert told(app, "jobs", "cancel", waiting) == [f"INFO penstock.job.task job.cancelled {waiting}"]
    lost = app.enqueue("task", {}, attempts=1).id
    gone = RegisterWorker(worker_id="gone", host="h", pid=1, version="1", slots=9, stale_after=0.001)
    session = app.store.register_worker(gone).wait().session
    assert app.store.claim_jobs(ClaimJobs(session, 1)).wait().jobs
    assert told(app, "recover", "--threshold", "1ms") == [f"ERROR penstock.job.task job.dead {lost}"]
    assert app.get(lost).state() is State.DEAD
    enqueued, retried = told(app, "dead", "retry", lost)
    assert enqueued.startswith("DEBUG penstock.job.task job.enqueued ")
    assert retried == f"INFO penstock.job.task job.retried {lost}"
    assert told(app, "dead", "purge", lost, "--yes") == [f"DEBUG penstock.job.task job.removed {lost}"]


def test_a_new_job_that_ends_at_once_is_told_once(app: App) -> None:
    worker = RegisterWorker(
        worker_id="w", host="h", pid=1, version="1", slots=1, stale_after=30.0, types=("other",),
        declared={"hasty": make_options(no_worker="fail")},
    )  # fmt: skip
    app.store.register_worker(worker).wait()
    [line] = told(app, "enqueue", "hasty", "{}")
    assert line.startswith("ERROR penstock.job.hasty job.dead ")
