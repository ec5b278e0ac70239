"""`penstock worker --processes N --metrics HOST:PORT` with real processes: one port for all of them."""

from __future__ import annotations

import os
import signal
import urllib.request

import pytest

from penstock import App
from tests.e2e.processes import until
from tests.e2e.supervised import Supervised
from tests.unit.observe.metrics.reading import Samples, samples, value

pytestmark = pytest.mark.turns

HANDLERS = """
@app.job
async def who() -> int:
    await asyncio.sleep(0.02)
    return os.getpid()
"""


def scrape(place: str) -> Samples:
    with urllib.request.urlopen(place, timeout=30) as answer:
        return samples(answer.read().decode())


def completed(place: str) -> float:
    found = scrape(place)
    return found.get(("penstock_jobs_total", frozenset({("type", "who"), ("status", "completed")})), 0.0)


def up(place: str) -> list[float]:
    return [value(scrape(place), "penstock_supervisor_process_up", process=number) for number in ("1", "2")]


def test_one_port_for_all_processes_whose_counts_outlive_them(app: App, supervised: Supervised) -> None:
    flags = ("--processes", "2", "--concurrency", "2", "--metrics", "127.0.0.1:0", "--health", "off")
    supervisor = supervised.start(HANDLERS, *flags, "--heartbeat-interval", "300ms")
    place = supervisor.wait_for("metrics are served at").split()[-1]
    supervisor.wait_for("started: 2 slots", 2)

    def run(jobs: int) -> set[int]:
        return {job.result(timeout=30) for job in [app.enqueue("who") for _ in range(jobs)]}

    pids = run(20)
    until(lambda: completed(place) == 20, "all are counted, whoever ran them")
    assert value(scrape(place), "penstock_worker_slots") == 4
    assert up(place) == [1, 1]

    victim = pids.pop()
    os.kill(victim, signal.SIGKILL)
    supervisor.wait_for(f"(pid {victim}) ended")
    assert completed(place) == 20
    supervisor.wait_for("started: 2 slots", 3)
    until(lambda: up(place) == [1, 1], "the new process answers")
    assert completed(place) == 20
    run(10)
    until(lambda: completed(place) == 30, "the new process counts on")

    for pid in supervised.pids():
        os.kill(pid, signal.SIGTERM)  # In order: it tells what nobody has asked for.
    supervisor.wait_for("started: 2 slots", 5)
    assert completed(place) == 30

    hung = supervised.pids()[0]
    os.kill(hung, signal.SIGSTOP)
    until(lambda: sorted(up(place)) == [0, 1], "one that hangs is told of, and not waited for")
    assert completed(place) == 30
    os.kill(hung, signal.SIGCONT)
    until(lambda: up(place) == [1, 1], "it goes on")
    supervisor.stop()
