"""Two idle workers share a stream of single jobs (R4)."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from penstock import App
from tests.e2e.processes import Processes

pytestmark = pytest.mark.turns

WORKER = """
@app.job
async def tick() -> None: ...
"""
LAST = 100
PATIENCE_SECONDS = 90.0


def test_two_workers_share_what_comes_one_by_one(app: App, processes: Processes) -> None:
    """As soon as they know of each other, which takes a few seconds."""
    for name in ("one", "two"):
        processes.worker(WORKER, worker_id=name, concurrency=10)
    taken: list[str | None] = []
    end = time.monotonic() + PATIENCE_SECONDS
    while min((shares := Counter(taken[-LAST:]))["one"], shares["two"]) < 0.3 * LAST:
        assert time.monotonic() < end, shares
        job = app.enqueue("tick")
        job.result(timeout=30)
        taken.append(job.read().worker_id)
