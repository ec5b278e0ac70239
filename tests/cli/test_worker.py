from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock import App, State
from tests.cli.conftest import Shell

URL = "sqlite:///jobs.db"


def test_a_burst_runs_what_is_there_and_ends_with_zero(shell: Shell, project: Path) -> None:
    shell.run("migrate", "--store", URL)
    job_id = shell.run("enqueue", "greet", '{"name": "you"}', "--store", URL).out.strip()
    outcome = shell.run("worker", "tasks:app", "--burst", "--concurrency", "7", "--id", "w-1", "--types", "greet")
    assert outcome.code == 0
    assert outcome.err == ""
    for shown in (f"store         {project / 'jobs.db'}", "worker w-1", "slots         7", "types         greet"):
        assert shown in outcome.out
    assert " info penstock.worker worker w-1 started" in outcome.out
    assert shell.run("jobs", "show", job_id, "--json", "--store", URL).json["result"] == "hello you"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["worker", "start"])
def test_a_signal_lets_the_running_job_finish(
    shell: Shell, project: Path, number: signal.Signals, command: str
) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("wait_for_file", {"path": str(project / "go")})
    worker = shell.start(command, "tasks:app")
    worker.wait_for(f"{job.id} attempt 1 started")
    worker.signal(number)
    worker.wait_for("stopping: finishing what runs")
    (project / "go").touch()
    outcome = worker.end()
    assert outcome.code == 0
    assert outcome.err == ""
    assert job.result(timeout=1) == "found"
    app.close()


def test_a_job_that_does_not_finish_in_time_goes_back(shell: Shell, project: Path) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("wait_for_file", {"path": str(project / "never")})
    worker = shell.start("worker", "tasks:app", "--shutdown-timeout", "50ms")
    worker.wait_for(f"{job.id} attempt 1 started")
    worker.signal(signal.SIGTERM)
    assert worker.end().code == 0
    left = job.read()
    assert (left.state, left.attempt) == (State.PENDING, 0)
    app.close()


STUBBORN = """
import asyncio
import penstock.worker.executing.stopping
from penstock import App

penstock.worker.executing.stopping.STOP_SECONDS = 0.2
app = App("sqlite:///jobs.db")


@app.job
async def stubborn() -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
"""


def test_a_handler_that_ignores_its_cancellation_cannot_keep_the_process(shell: Shell, project: Path) -> None:
    (project / "stubborn_tasks.py").write_text(STUBBORN)
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("stubborn")
    worker = shell.start("worker", "stubborn_tasks:app", "--shutdown-timeout", "50ms")
    worker.wait_for(f"{job.id} attempt 1 started")
    worker.signal(signal.SIGTERM)
    outcome = worker.end()
    assert outcome.code == 0
    assert "did not stop in time and was given up" in outcome.out or "does not stop when it is told to" in outcome.out
    left = job.read()
    assert (left.state, left.attempt) == (State.PENDING, 0)
    app.close()


def test_a_worker_goes_on_when_nobody_reads_its_log(shell: Shell, project: Path) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("greet", {"name": "nobody"})
    outcome = shell.run_unread("worker", "tasks:app", "--burst")
    assert outcome.code == 0
    assert outcome.err == ""
    assert job.result(timeout=1) == "hello nobody"
    app.close()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["tasks"], "MODULE:APP"),
        (["nothing_here:app"], "there is no module 'nothing_here'"),
        (["tasks:nope"], "tasks:app"),
        (["tasks:app", "--types", "greet,nope"], "no handler is declared for: nope"),
        (["tasks:app", "--concurrency", "0"], "concurrency=0"),
        (["tasks:app", "--concurrency", "many"], "--concurrency: worker.concurrency='many'"),
        (["tasks:app", "--poll-interval", "soon"], "poll_interval='soon'"),
        (["tasks:app", "--heartbeat-interval", "0s"], "heartbeat_interval='0s'"),
        (["tasks:app", "--queues", "a b"], "queues='a b'"),
        (["tasks:app", "--id", "no spaces"], "--id: worker.id='no spaces'"),
    ],
    ids=str,
)
def test_wrong_words_are_usage_errors_that_name_them(shell: Shell, project: Path, args: list[str], words: str) -> None:
    outcome = shell.run("worker", *args, "--burst")
    assert outcome.code == 2
    assert words in outcome.err
    assert "Traceback" not in outcome.err + outcome.out


def test_start_without_an_app_says_what_is_needed(shell: Shell) -> None:
    outcome = shell.run("start")
    assert outcome.code == 2
    assert "Missing argument 'MODULE:APP'" in outcome.err
    assert "penstock start [OPTIONS] {MODULE:APP}" in shell.run("start", "--help").out


def test_start_runs_a_worker(shell: Shell, project: Path) -> None:
    outcome = shell.run("start", "tasks:app", "--burst")
    assert outcome.code == 0
    assert "worker" in outcome.out


def test_a_module_that_raises_is_a_failure(shell: Shell) -> None:
    (shell.folder / "tasks.py").write_text("raise RuntimeError('no settings')\n")
    outcome = shell.run("worker", "tasks:app")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "RuntimeError: no settings" in outcome.err


def test_a_file_that_is_no_store_is_a_failure_in_one_line(shell: Shell, project: Path) -> None:
    (project / "jobs.db").write_text("this is a letter, not a database" * 100)
    outcome = shell.run("worker", "tasks:app")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert str(project / "jobs.db") in outcome.err


def test_a_second_worker_with_the_same_id_is_refused(shell: Shell, project: Path) -> None:
    first = shell.start("worker", "tasks:app", "--id", "only-one")
    first.wait_for("worker only-one started")
    second = shell.run("worker", "tasks:app", "--id", "only-one")
    assert second.code == 1
    assert "only-one" in second.err
    first.signal(signal.SIGTERM)
    assert first.end().code == 0


def test_resources_that_cannot_be_set_up_fail_the_worker_with_their_traceback(shell: Shell) -> None:
    (shell.folder / "tasks.py").write_text(
        "from contextlib import asynccontextmanager\nfrom penstock import App\n"
        "@asynccontextmanager\nasync def resources():\n    raise OSError('no database')\n    yield\n"
        "app = App('sqlite:///jobs.db', lifespan=resources)\n@app.job\ndef work() -> None: ...\n"
    )
    outcome = shell.run("worker", "tasks:app", "--burst")
    assert outcome.code == 1
    assert "the worker failed" in outcome.out
    assert "OSError: no database" in outcome.out
