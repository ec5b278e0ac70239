"""`penstock jobs watch`: a bar on a terminal, lines elsewhere, and the end of the job either way."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock import App, State
from tests.cli.conftest import DEADLINE_SECONDS, Call, Shell, run_all
from tests.cli.life import Life

STORE = ("--store", "sqlite:///jobs.db")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command on a terminal, read while it runs."""

    def __init__(self, folder: Path, *args: str, **env: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *args],
            cwd=folder, env={**os.environ, "COLUMNS": "120", "LINES": "20", "TERM": "xterm", **env},
            stdin=slave, stdout=slave, stderr=slave,
        )  # fmt: skip
        os.close(slave)
        self.raw = ""

    @property
    def shown(self) -> str:
        """Everything that was drawn, without what moves the cursor or colours."""
        return CONTROL.sub("", self.raw)

    def wait_for(self, text: str) -> None:
        until = time.monotonic() + DEADLINE_SECONDS
        while text not in self.shown:
            assert self._read(until), f"never saw {text!r} in: {self.shown[-500:]}"

    def end(self) -> int:
        until = time.monotonic() + DEADLINE_SECONDS
        while self._read(until):
            pass
        return self.process.wait(DEADLINE_SECONDS)

    def _read(self, until: float) -> bool:
        try:
            ready, _, _ = select.select([self._master], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._master, 65536) if ready else b""
        except OSError:  # how Linux says that the other side has closed
            chunk = b""
        self.raw += chunk.decode(errors="replace")
        return bool(chunk)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


Watch = Callable[..., Terminal]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Watch a job on a terminal."""
    opened: list[Terminal] = []

    def watch(job_id: str, **env: str) -> Terminal:
        opened.append(Terminal(tmp_path, "jobs", "watch", job_id, *STORE, **env))
        return opened[-1]

    yield watch
    for terminal in opened:
        terminal.close()


# On a terminal


def test_the_bar_shows_percent_and_phase_and_ends_with_the_result(watch: Watch, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    terminal = watch(job.id)
    terminal.wait_for("greet pending")
    life = Life(app, job.id)
    terminal.wait_for("greet running (attempt 1 of 3)")
    life.says('{"phase":"connecting"}')
    terminal.wait_for("━ connecting")
    life.says('{"percent":40,"phase":"[red]reading[/red]\\u001b[31m"}')
    terminal.wait_for("━ 40 % [red]reading[/red]\\x1b[31m")
    life.says('{"percent":100}')
    terminal.wait_for("━ 100 % ")
    life.completes('{"rows":7}')
    assert terminal.end() == 0
    assert terminal.shown.rstrip().endswith('completed: {"rows":7}')


def test_another_try_begins_a_new_bar(watch: Watch, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    life = Life(app, job.id)
    life.says('{"percent":80,"phase":"first"}')
    terminal = watch(job.id)
    terminal.wait_for("80 % first")
    life.fails("the first")
    terminal.wait_for("greet pending (attempt 1 of 3)")
    life.begins()
    terminal.wait_for("running (attempt 2 of 3)")
    life.says('{"percent":10,"phase":"second"}')
    terminal.wait_for("━ 10 % second")
    life.fails("the second", retry_in=None)
    assert terminal.end() == 1
    assert "dead: all attempts used; ValueError: the second; see: penstock jobs show" in terminal.shown


def test_without_colours(watch: Watch, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    terminal = watch(job.id, NO_COLOR="1")
    life = Life(app, job.id)
    life.says('{"percent":40}')
    terminal.wait_for(" 40 % ")
    life.completes("1")
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.raw)


def test_ctrl_c_on_a_terminal_leaves_the_job_alone_and_the_cursor_visible(watch: Watch, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    terminal = watch(job.id)
    terminal.wait_for("greet pending")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")
    assert "Traceback" not in terminal.shown
    assert job.state() is State.PENDING


def test_a_job_that_has_ended_needs_no_bar(watch: Watch, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    run_all(app)
    terminal = watch(job.id)
    assert terminal.end() == 0
    assert 'completed: "hello x"' in terminal.shown


# Elsewhere


def test_watch_follows_to_the_result(shell: Shell, project: Path) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    job = app.enqueue("wait_for_file", {"path": str(project / "go")})
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("wait_for_file pending")
    worker = shell.start("worker", "tasks:app", "--burst")
    watcher.wait_for("40 % waiting")
    (project / "go").touch()
    ended = watcher.end()
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith('completed: "found"\n')
    assert worker.end().code == 0
    app.close()


def test_watching_a_job_that_has_ended_answers_at_once(call: Call, app: App, dead: Callable[[int], list[str]]) -> None:
    (job_id,) = dead(1)
    assert call("jobs", "watch", job_id).code == 1
    done = app.enqueue("greet", {"name": "x"})
    run_all(app)
    outcome = call("jobs", "watch", done.id, "--json")
    assert (outcome.code, outcome.json["result"]) == (0, "hello x")


def test_ctrl_c_leaves_a_watched_job_alone(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("greet pending")
    watcher.signal(signal.SIGINT)
    ended = watcher.end()
    assert (ended.code, ended.err) == (130, "")
    assert job.state() is State.PENDING


def test_a_watched_job_that_keeps_no_outcome_ends_with_a_word(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"}, remove_on_complete=True)
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("greet pending")
    run_all(app)
    ended = watcher.end()
    assert ended.code == 1
    assert "no longer stored" in ended.err


@pytest.mark.parametrize("end", ["cancelled", "expired"])
def test_a_waiting_job_that_never_runs(shell: Shell, app: App, end: str) -> None:
    job = app.enqueue("greet", {"name": "x"}, ttl="20s" if end == "expired" else None)
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("greet pending")
    if end == "cancelled":
        job.cancel()  # Otherwise nobody claims it within its time-to-live, and nobody needs to say so.
    ended = watcher.end()
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines()[-1].startswith(f"{end}: ")


def test_a_running_job_that_heeds_its_cancellation(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    life = Life(app, job.id)
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    watcher.wait_for("greet running")
    job.cancel()
    life.heeds_cancel()
    ended = watcher.end()
    assert (ended.code, "cancelled: cancelled while it was running" in ended.out) == (1, True)


def test_a_reason_that_is_the_error_is_said_once(call: Call, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    Life(app, job.id).fails("all attempts used", retry_in=None)
    outcome = call("jobs", "watch", job.id)
    assert outcome.code == 1
    assert outcome.out.count("all attempts used") == 1


def test_each_change_is_one_line(shell: Shell, app: App) -> None:
    job = app.enqueue("greet", {"name": "x"})
    life = Life(app, job.id)
    watcher = shell.start("jobs", "watch", job.id, *STORE)
    for progress in ('{"percent":1}', '{"percent":2,"phase":"b"}'):
        life.says(progress)
        watcher.wait_for("1 %" if "b" not in progress else "2 % b")
    life.completes("null")
    ended = watcher.end()
    lines = ended.out.splitlines()
    assert len(lines) == len(set(lines)), "a line is said once"
    assert lines[-1] == "completed: null"
