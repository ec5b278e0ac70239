"""`penstock worker --processes N` with real processes: deaths, orderly stops, and what others leave behind."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from penstock import App, State
from tests.e2e.processes import counts, until
from tests.e2e.supervised import Supervised, alive

pytestmark = pytest.mark.turns

QUICK = ("--heartbeat-interval", "300ms", "--shutdown-timeout", "20s")

GATED = """
@app.job(attempts=3, backoff=Fixed(0.01))
async def gated(ctx: Context, gate: str) -> str:
    say("begun", ctx.attempt, os.getpid())
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)
    return f"attempt {ctx.attempt}"
"""


def test_a_killed_process_is_replaced_and_its_job_is_run(app: App, supervised: Supervised, gate: str) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", *QUICK)
    supervisor.wait_for("started: 50 slots", 2)
    job = app.enqueue("gated", {"gate": gate})
    victim = int(supervisor.wait_for("begun 1").split()[-1])
    os.kill(victim, signal.SIGKILL)
    supervisor.wait_for(f"(pid {victim}) ended")
    assert supervisor.printed("killed by SIGKILL, perhaps out of memory")
    supervisor.wait_for("started: 50 slots", 3)
    supervisor.wait_for("begun 2")
    open(gate, "w").close()
    assert job.result(timeout=30) == "attempt 2"
    supervisor.stop()
    assert len(supervisor.printed("starts again at once")) == 1


def test_sigterm_ends_all_in_order_and_running_jobs_finish(app: App, supervised: Supervised, gate: str) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", "--concurrency", "1", *QUICK)
    supervisor.wait_for("started: 1 slots", 2)
    jobs = [app.enqueue("gated", {"gate": gate}) for _ in range(3)]
    supervisor.wait_for("begun 1", 2)
    supervisor.send(signal.SIGTERM)
    supervisor.wait_for("finishing what runs", 2)
    open(gate, "w").close()
    assert supervisor.wait() == 0, supervisor.output
    assert sorted(job.state() for job in jobs) == [State.COMPLETED, State.COMPLETED, State.PENDING]
    assert {row.status for row in app.store.list_workers().wait()} == {"inactive"}


def test_a_second_signal_stops_at_once_and_gives_the_jobs_back(app: App, supervised: Supervised, gate: str) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", "--concurrency", "1", "--shutdown-timeout", "10m")
    jobs = [app.enqueue("gated", {"gate": gate}) for _ in range(2)]
    supervisor.wait_for("begun 1", 2)
    supervisor.send(signal.SIGINT)
    supervisor.wait_for("finishing what runs", 2)
    supervisor.send(signal.SIGINT)
    assert supervisor.wait() == 0, supervisor.output
    assert supervisor.printed("SIGINT again: stopping at once")
    assert [(job.state(), job.read().attempt) for job in jobs] == [(State.PENDING, 0)] * 2


def test_workers_of_a_killed_supervisor_stop_in_order(app: App, supervised: Supervised, gate: str) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", *QUICK)
    supervisor.wait_for("started: 50 slots", 2)
    job = app.enqueue("gated", {"gate": gate})
    supervisor.wait_for("begun 1")
    supervisor.send(signal.SIGKILL)
    supervisor.wait_for("finishing what runs", 2)
    open(gate, "w").close()
    assert supervisor.wait() == -signal.SIGKILL
    supervisor.wait_for("stopped", 2)
    assert job.result(timeout=30) == "attempt 1"
    assert {row.status for row in app.store.list_workers().wait()} == {"inactive"}


def test_a_wrong_setting_ends_everything_at_once(supervised: Supervised) -> None:
    supervisor = supervised.start("app = 5", "--processes", "2")
    assert supervisor.wait() == 2
    assert supervisor.printed("tasks:app is a int, not a penstock.App")
    assert supervisor.printed("cannot start; stopping all")
    assert len(supervisor.printed("started (pid")) == 2


def test_a_process_that_fails_at_every_start_ends_everything(supervised: Supervised) -> None:
    """An error of the lifespan is no wrong setting: it may pass, so it is tried a few times, but not for ever."""
    handlers = """
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def broken():
        raise RuntimeError("the mail server is down")
        yield

    app = App(address, lifespan=broken)

    @app.job
    def idle() -> None: ...
    """
    supervisor = supervised.start(handlers, "--processes", "1", "--max-jobs", "10")
    assert supervisor.wait() == 1
    assert len(supervisor.printed("started (pid")) == 3
    assert supervisor.printed("the mail server is down")


def test_a_burst_ends_by_itself_when_all_is_done(app: App, supervised: Supervised, gate: str) -> None:
    open(gate, "w").close()
    for _ in range(50):
        app.enqueue("gated", {"gate": gate})
    supervisor = supervised.start(GATED, "--processes", "2", "--burst")
    assert supervisor.wait() == 0, supervisor.output
    assert counts(app) == {State.COMPLETED: 50}
    assert len(supervisor.printed("exit code 0")) == 2


def test_every_process_has_a_fresh_id_with_the_given_name(app: App, supervised: Supervised, gate: str) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", "--id", "shop", *QUICK)
    supervisor.wait_for("started: 50 slots", 2)
    first = next(row.pid for row in app.store.list_workers().wait() if row.id.startswith("shop-1-"))
    os.kill(first, signal.SIGKILL)
    supervisor.wait_for("started: 50 slots", 3)
    supervisor.stop()
    ids = [row.id for row in app.store.list_workers().wait()]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"shop-[12]-[0-9a-f]{8}", worker_id) for worker_id in ids), ids


def test_each_process_is_out_of_reach_of_the_terminals_ctrl_c(supervised: Supervised) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", *QUICK)
    supervisor.wait_for("started: 50 slots", 2)
    assert [os.getsid(pid) for pid in supervised.pids()] == supervised.pids()
    supervisor.stop()


STUBBORN = """
import subprocess
say("helper", subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say("deaf")
threading.Event().wait()
"""


def test_a_process_that_does_not_stop_is_killed_with_what_it_started(supervised: Supervised) -> None:
    supervisor = supervised.start(STUBBORN, "--processes", "2", "--shutdown-timeout", "0", kill_seconds=0.2)
    supervisor.wait_for("deaf", 2)
    helpers = [int(line.split()[-1]) for line in supervisor.printed("helper")]
    try:
        supervisor.send(signal.SIGTERM)
        assert supervisor.wait() == 1
        assert len(supervisor.printed("did not stop in time; killing it")) == 2
        until(lambda: not any(map(alive, helpers)), "the helpers are gone too")
    finally:
        for helper in filter(alive, helpers):
            os.kill(helper, signal.SIGKILL)


ORPHANS = """
@app.job
def leave_an_orphan() -> int:
    script = "import subprocess, sys; print(subprocess.Popen(['sleep', '0.1'], stdout=subprocess.DEVNULL).pid)"
    import subprocess
    return int(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)
"""


def test_orphans_that_fall_to_it_are_reaped_and_not_taken_for_workers(app: App, supervised: Supervised) -> None:
    """As PID 1 of a container it inherits what others leave behind; here it asks the kernel for that part."""
    supervisor = supervised.start(ORPHANS, "--processes", "2", *QUICK, subreaper=True)
    orphan = app.enqueue("leave_an_orphan")
    pid = orphan.result(timeout=30)
    until(lambda: not Path(f"/proc/{pid}").exists(), "the orphan is reaped, not even a zombie is left")
    supervisor.stop()
    assert len(supervisor.printed("ended after")) == 2


def test_a_hangup_replaces_the_processes_one_after_another(app: App, supervised: Supervised) -> None:
    supervisor = supervised.start(GATED, "--processes", "2", *QUICK, renew_seconds=0.1)
    supervisor.wait_for("started: 50 slots", 2)
    old = supervised.pids()
    supervisor.send(signal.SIGHUP)
    supervisor.wait_for("started (pid", 4)
    supervisor.wait_for("started: 50 slots", 4)
    assert not any(alive(pid) for pid in old)
    supervisor.stop()


def test_a_process_that_was_used_up_is_replaced_at_once(app: App, supervised: Supervised, gate: str) -> None:
    open(gate, "w").close()
    supervisor = supervised.start(GATED, "--max-jobs", "5", "--concurrency", "1", *QUICK)
    jobs = [app.enqueue("gated", {"gate": gate}) for _ in range(11)]
    assert [job.result(timeout=30) for job in jobs] == ["attempt 1"] * 11
    supervisor.wait_for("exit code 75", 2)
    supervisor.stop()
    assert not supervisor.printed("starts again")
