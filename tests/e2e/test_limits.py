"""Limits of a whole queue and a whole type, set by the config alone, over several workers (L2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import App, State
from tests.e2e.processes import Processes, counts, until

JOBS = """
app = App.from_config({config!r})

@app.job
async def build(gate: str) -> None:
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)

@app.job
async def render(gate: str) -> None:
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)
"""


@pytest.mark.parametrize(("name", "limited"), [("queue:reports", ("build", "render")), ("type:build", ("build",))])
def test_no_more_of_a_queue_or_a_type_run_at_once_than_the_config_says(
    address: str, processes: Processes, gate: str, tmp_path: Path, name: str, limited: tuple[str, ...]
) -> None:
    config = tmp_path / "penstock.toml"
    config.write_text(f'store = "{address}"\n[concurrency_limits]\n"{name}" = 2\n', encoding="utf-8")
    for _ in range(2):
        processes.worker(JOBS.format(config=str(config)))
    app = App.from_config(config)
    jobs = [app.enqueue(type, {"gate": gate}, queue="reports") for type in limited * 6]
    free = app.enqueue("render", {"gate": gate}, queue="elsewhere")
    until(lambda: counts(app) == {State.RUNNING: 3, State.BLOCKED: len(jobs) - 2}, "two of them run, and the free one")
    Path(gate).touch()
    for job in (*jobs, free):
        job.result(timeout=30)
    app.close()
