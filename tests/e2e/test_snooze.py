"""A job that is put off, by real workers (J11)."""

from __future__ import annotations

from pathlib import Path

from penstock import App, State
from tests.e2e.processes import Processes

POLL = """
@app.job(attempts=1)
async def poll(ctx: Context, gate: str) -> int:
    say("looked", ctx.attempt, ctx.snoozes)
    if not os.path.exists(gate):
        raise penstock.Snooze("50ms", "not there yet")
    return ctx.snoozes
"""


def test_a_snoozed_job_is_run_again_by_another_worker(app: App, processes: Processes, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    job = app.enqueue("poll", {"gate": str(gate)})
    first = processes.worker(POLL)
    first.wait_for("looked 1 1")
    first.stop()
    second = processes.worker(POLL)
    second.wait_for("looked 1")
    gate.touch()
    times = job.result(timeout=30)
    read = job.read()
    assert (read.state, read.attempt, read.snoozes) == (State.COMPLETED, 1, times)
    assert times >= 2
