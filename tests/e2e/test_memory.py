"""A worker that runs for long does not grow, failed jobs included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App, State
from tests.contract.engines import Engine
from tests.e2e.processes import Processes, counts

pytestmark = pytest.mark.turns

JOBS = 30_000
GROWTH_BYTES_MAX = 1024 * 1024

WORKER = """
import gc, tracemalloc

logging.getLogger("penstock").setLevel(logging.CRITICAL)
ended = 0
sizes = []

def measure():
    gc.collect()
    sizes.append(tracemalloc.get_traced_memory()[0])

@app.job(attempts=1)
async def work(number: int) -> dict:
    global ended
    ended += 1
    if ended == settings_third:
        tracemalloc.start(1)
    if ended in (settings_third + 2000, settings_third * 3 - 10):
        measure()
    if number % 10 == 0:
        raise ValueError(f"job {number} fails" * 20)
    return {"number": number, "text": "x" * 100}

settings_third = settings.pop("third")
"""

REPORT = """
say("grown by", sizes[-1] - sizes[0])
"""


@pytest.fixture
def address(engine: Engine, tmp_path: Path) -> Iterator[str]:
    """Tables that nobody has used: what a server remembers of emptied ones makes it slow with so many jobs at once."""
    address = engine.fresh(tmp_path)
    yield address
    engine.drop(address)


def test_memory_stays_flat_while_jobs_complete_and_fail(app: App, processes: Processes) -> None:
    calls = (app.client.call_by_name("work", {"number": number}, {"attempts": 1}, {}) for number in range(JOBS))
    app.enqueue_many(calls)
    worker = processes.script(
        WORKER + "asyncio.run(app.run_worker(**settings))\n" + REPORT, third=JOBS // 3, burst=True
    )
    grown = int(worker.wait_for("grown by", seconds=120).split()[-1])
    assert worker.wait() == 0
    assert counts(app) == {State.COMPLETED: JOBS * 9 // 10, State.DEAD: JOBS // 10}
    assert grown < GROWTH_BYTES_MAX, f"{grown:,} bytes more after {JOBS * 2 // 3:,} jobs"
