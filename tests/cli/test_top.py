"""`penstock top`: one table, one document, and a living screen with keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import App
from penstock.domain.figures.series import Count, Figures, Route, Tally, TenantFigures
from penstock.store.contract import Depth, Gauge, HeartbeatWorker, Page, RegisterWorker, StoreSample
from tests.cli.conftest import DEADLINE_SECONDS, Call, Shell
from tests.cli.test_workers import rows

STORE = ("--store", "sqlite:///jobs.db")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HOME = "\x1b[H"
ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"
WINDOW_SECONDS = (60, 120)
PROGRAM = "from penstock.cli.main import main; main()"
OWN = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
"""The terminal is the program's own, so that Ctrl-C and Ctrl-Z reach it."""
BROKEN = """
import penstock.cli.top.looks

def broken(store):
    raise RuntimeError("a defect")

penstock.cli.top.looks.look = broken
"""


def counted(app: App, *gauges: Gauge, age: float = 2.0) -> None:
    """What a leader would have counted."""
    at = app.store.read_clock().wait() - int(age * 1_000_000)
    app.store.store_sample(StoreSample(at, 0.001, gauges)).wait()


def waits(app: App, type_: str, pending: int, seconds: float, queue: str = "default") -> Gauge:
    due = app.store.read_clock().wait() - int(seconds * 1_000_000)
    depth = Depth(pending=pending, ready=pending, running=1)
    return Gauge(route=Route(type_, queue, "general"), depth=depth, oldest_due_at=due)


def register(app: App, name: str = "w1", slots: int = 8) -> int:
    known = RegisterWorker(worker_id=name, host="h", pid=1, version="1", slots=slots, stale_after=3600.0)
    return app.store.register_worker(known).wait().session


def done(app: App, session: int, type_: str = "send", completed: int = 90, failed: int = 10) -> None:
    """What a worker would have booked of its attempts."""
    figures = Figures({Count.COMPLETED: completed, Count.FAILED: failed}, 50.0, {30: 100}, {40: 100})
    tally = Tally({Route(type_, "default", "general"): figures}, {"acme": TenantFigures(completed, failed, 50.0)})
    page = Page(f"book of {type_}", 1, tally)
    app.store.heartbeat_worker(HeartbeatWorker(session, page=page)).wait()


def table(out: str) -> list[dict[str, str]]:
    """The rows above the sentences."""
    return rows(out.split("\n\n")[0] + "\nend")


@pytest.fixture
def busy(app: App) -> App:
    """A store in which one type floods a queue, as its workers and their leader have told."""
    session = register(app)
    done(app, session)
    counted(app, waits(app, "send", 12, 240.0), waits(app, "import", 12_400, 300.0), waits(app, "cut", 1, 1.0, "film"))
    return app


# Once


def test_one_table_by_type(call: Call, busy: App) -> None:
    outcome = call("top")
    assert outcome.code == 0
    found = {row["type"]: row for row in table(outcome.out)}
    assert list(found) == ["import", "send", "cut"]
    assert (found["import"]["pending"], found["import"]["oldest"], found["import"]["slots"]) == ("12,400", "5m", "1/8")
    assert (found["send"]["errors"], found["send"]["come/s"]) == ("10 %", "-")
    least, most = WINDOW_SECONDS
    assert 90 / (most + DEADLINE_SECONDS) <= float(found["send"]["done/s"]) <= 90 / least
    assert "flood: 'import' has 12,400 of 12,412 waiting jobs in queue 'default'; 'send' waits 4m there" in outcome.out
    assert re.search(r"12,413 pending, 0 scheduled, 3 running, 8 slots of 1 worker in .*as of [2-5]s ago", outcome.out)


def test_once_is_the_same_as_no_terminal(call: Call, busy: App) -> None:
    assert [row["type"] for row in table(call("top", "--once", "--sort", "name").out)] == [
        "cut", "import", "send",
    ]  # fmt: skip


def test_by_queue_tenant_and_worker(call: Call, busy: App) -> None:
    queues = table(call("top", "--by", "queue").out)
    assert [(row["queue"], row["pending"]) for row in queues] == [("default", "12,412"), ("film", "1")]
    (tenant,) = table(call("top", "--by", "tenant").out)
    assert (tenant["tenant"], tenant["errors"]) == ("acme", "10 %")
    (worker,) = table(call("top", "--by", "worker").out)
    assert (worker["worker"], worker["status"], worker["jobs"], worker["slots"]) == ("w1", "active", "0", "8")


def test_json(call: Call, busy: App, tmp_path: Path) -> None:
    found = call("top", "--json", "--sort", "oldest").json
    assert (found["by"], [row["name"] for row in found["rows"]]) == ("type", ["import", "send", "cut"])
    assert found["rows"][1]["run"]["p50"] == pytest.approx(0.03, rel=0.2)
    assert (found["floods"][0]["type"], found["floods"][0]["delayed"][0]["type"]) == ("import", "send")
    assert found["all"]["pending"] == 12_413
    assert found["store"] == str(tmp_path / "jobs.db")
    assert found["since"] < found["sampled_at"] < found["at"]
    assert [row["name"] for row in call("top", "--json", "--by", "worker").json["rows"]] == ["w1"]


def test_a_new_store_says_what_to_do(call: Call, app: App) -> None:
    outcome = call("top")
    assert outcome.code == 0
    assert "no job was counted here yet" in outcome.out
    assert "start a worker, or without one: penstock coordinator" in outcome.out
    assert "no worker runs here; start one: penstock worker MODULE:APP" in call("top", "--by", "worker").out
    assert call("top", "--json").json["sampled_at"] is None


def test_a_sample_that_is_old_is_told(call: Call, app: App) -> None:
    counted(app, waits(app, "send", 1, 700.0), age=600)
    assert "as of 10m" in call("top").out
    assert "nobody counts what waits any more: start a worker" in call("top").out


def test_jobs_are_never_counted_for_it(call: Call, busy: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.store.sqlite.store import SqliteStore

    counting = [name for name in dir(SqliteStore) if name.startswith("count_") or name == "list_jobs"]
    assert "count_gauges" in counting
    for name in counting:
        monkeypatch.setattr(SqliteStore, name, None)
    assert call("top").code == 0


@pytest.mark.parametrize(
    "words",
    [["--interval", "0s"], ["--interval", "soon"], ["--by", "color"], ["--sort", "color"],
     ["--by", "worker", "--sort", "oldest"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_words_are_usage_errors(call: Call, app: App, words: list[str]) -> None:
    assert call("top", *words).code == 2


def test_the_orders_that_there_are_are_named(call: Call, app: App) -> None:
    told = call("top", "--by", "worker", "--sort", "oldest").err
    assert "--sort oldest is not known of a worker: one of jobs, silent, name" in told


def test_a_missing_store_is_a_failure_with_its_fix(call: Call) -> None:
    outcome = call("top")
    assert (outcome.code, "penstock migrate" in outcome.err) == (1, True)


def test_a_reader_that_closes_the_pipe_is_no_failure(shell: Shell, busy: App) -> None:
    assert shell.run_unread("top", *STORE).code == 0


# On a terminal


class Screen:
    """`penstock top` on a terminal, and what it shows now."""

    def __init__(self, folder: Path, *args: str, program: str = PROGRAM, **env: str) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 130, 0, 0))
        self.mode = self.current_mode
        plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWN + program, "top", *STORE, "--interval", "100ms", *args],
            cwd=folder, env={**plain, "TERM": "xterm", **env}, stdin=self._slave, stdout=self._slave,
            stderr=self._slave, start_new_session=True,
        )  # fmt: skip
        self.raw = ""

    @property
    def current_mode(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    @property
    def picture(self) -> str:
        """What was drawn last."""
        return CONTROL.sub("", self.raw.rpartition(HOME)[2])

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, *texts: str, gone: str | None = None) -> None:
        """Until all of this is in one picture, and without that."""
        until = time.monotonic() + DEADLINE_SECONDS
        while not all(text in self.picture for text in texts) or (gone is not None and gone in self.picture):
            assert self._read(until), f"never saw {texts!r} in: {self.picture}"

    def end(self) -> int:
        """Its exit code. Whatever it still says is read, so that it is not held up."""
        until = time.monotonic() + DEADLINE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < until, self.picture
            self._read(min(until, time.monotonic() + 0.05))
        while self._read(time.monotonic()):
            pass
        return self.process.returncode

    def _read(self, until: float) -> bool:
        if not select.select([self._master], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        chunk = os.read(self._master, 65536).decode(errors="replace")
        self.raw += chunk
        return bool(chunk)

    def is_left_as_it_was(self) -> bool:
        shown = self.raw.rfind("\x1b[?25h") > self.raw.rfind("\x1b[?25l")
        normal = self.raw.rfind(NORMAL) > self.raw.rfind(ALTERNATE) >= 0
        return shown and normal and self.current_mode == self.mode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)


Open = Callable[..., Screen]


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Open]:
    opened: list[Screen] = []

    def open_(*args: str, program: str = PROGRAM, **env: str) -> Screen:
        opened.append(Screen(tmp_path, *args, program=program, **env))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def test_the_screen_of_a_running_worker_and_its_keys(shell: Shell, project: Path, screen: Open) -> None:
    app = App(f"sqlite:///{project}/jobs.db")
    app.store.migrate()
    worker = shell.start("worker", "tasks:app", "--id", "one", "--concurrency", "3")
    worker.wait_for("one")
    shown = screen()
    shown.wait_for("penstock top by type, sorted by waiting", "3 slots of 1 worker")
    assert shown.current_mode != shown.mode, "keys are read one by one"
    for _ in range(5):
        app.enqueue("wait_for_file", {"path": str(project / "go")})
    shown.wait_for("as of", "wait_for_file", "3/3")
    shown.press("w")
    shown.wait_for("by worker, sorted by jobs", "active")
    shown.press("u")
    shown.wait_for("by queue, sorted by waiting", "default")
    shown.press("n")
    shown.wait_for("by tenant, sorted by slots", "no job of a tenant has ended")
    shown.press("t")
    shown.wait_for("by type, sorted by slots")
    shown.press("s")
    shown.wait_for("by type, sorted by name")
    shown.press("?")
    shown.wait_for("t types, u queues, n tenants, w workers")
    shown.press("?p")
    shown.wait_for("paused, by type", gone="t types, u queues")
    shown.press("p")
    shown.wait_for("by type", gone="paused")
    shown.press("q")
    assert shown.end() == 0
    assert shown.is_left_as_it_was()
    (project / "go").touch()
    worker.signal(signal.SIGTERM)
    assert worker.end().code == 0
    app.close()


def test_new_figures_change_the_picture(screen: Open, busy: App) -> None:
    shown = screen()
    shown.wait_for("flood: 'import' has 12,400", "12,413 pending")
    counted(busy, waits(busy, "import", 3, 1.0), waits(busy, "send", 12, 1.0), age=0)
    shown.wait_for("16 pending", gone="flood")
    shown.press("q")
    assert shown.end() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_and_the_terminal_is_as_before(
    screen: Open, busy: App, number: signal.Signals, code: int
) -> None:
    shown = screen()
    shown.wait_for("12,413 pending")
    shown.process.send_signal(number)
    assert shown.end() == code
    assert shown.is_left_as_it_was()
    assert "Traceback" not in shown.raw


def test_ctrl_c_ends_it_and_ctrl_z_does_nothing(screen: Open, busy: App) -> None:
    shown = screen()
    shown.wait_for("12,413 pending")
    shown.press("\x1aw")
    shown.wait_for("by worker")
    shown.press("\x03")
    assert shown.end() == 130
    assert shown.is_left_as_it_was()


def test_a_store_that_goes_away_is_waited_for(screen: Open, busy: App, tmp_path: Path) -> None:
    shown = screen()
    shown.wait_for("12,413 pending")
    aside = tmp_path / "aside"
    aside.mkdir()
    files = sorted(tmp_path.glob("jobs.db*"))
    for file in files:
        file.rename(aside / file.name)
    shown.wait_for("the store has not answered for", "trying again", "12,413 pending")
    shown.press("w")
    shown.wait_for("by worker", "trying again")
    for file in files:
        (aside / file.name).rename(file)
    shown.wait_for("by worker", gone="trying again")
    shown.press("q")
    assert shown.end() == 0
    assert shown.is_left_as_it_was()


def test_a_defect_ends_it_and_is_told_on_the_terminal_as_it_was(screen: Open, busy: App) -> None:
    shown = screen(program=BROKEN + PROGRAM)
    assert shown.end() == 1
    assert shown.is_left_as_it_was()
    assert "RuntimeError: a defect" in shown.raw.rpartition(NORMAL)[2]


def test_a_dumb_terminal_gets_one_table(screen: Open, busy: App) -> None:
    shown = screen(TERM="dumb")
    assert shown.end() == 0
    assert ALTERNATE not in shown.raw
    assert "12,413 pending" in shown.raw


def test_a_narrow_terminal_and_no_colours(screen: Open, busy: App) -> None:
    shown = screen(COLUMNS="50", LINES="12", NO_COLOR="1")
    shown.wait_for("import", "pending")
    shown.press("q")
    assert shown.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown.raw)
