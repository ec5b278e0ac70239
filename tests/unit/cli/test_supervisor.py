"""The supervisor's decisions, with processes that end when the test says so and a clock that only sleeping moves."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

from penstock.program.codes import RECYCLED, WRONG_USE
from penstock.supervisor.changes import is_code
from penstock.supervisor.launch import Launcher, Process
from penstock.supervisor.pace import DELAY_SECONDS_MAX, START_TRIES, STEADY_SECONDS, Pace
from penstock.supervisor.process_slot import KILL_SECONDS
from penstock.supervisor.supervisor import RELOAD_SECONDS, RENEW_SECONDS, Supervisor
from penstock.supervisor.wakeup import Wakeup

FOR_EVER = float("inf")
SHUTDOWN_SECONDS = 10.0


class Life(Process):
    """A process that ends by itself at a moment, when it is asked to stop, or only when it is killed."""

    def __init__(self, pid: int, ends_at: float, code: int, *, stubborn: bool) -> None:
        self.pid = pid
        self.ends_at = ends_at
        self.code = code
        self.stubborn = stubborn
        self.asked = 0
        self.over = False
        self.over_at = 0.0

    def ask_to_stop(self) -> None:
        self.asked += 1
        if not self.stubborn:
            self.ends_at, self.code = 0.0, 0

    def kill(self) -> None:
        self.ends_at, self.code = 0.0, -signal.SIGKILL


class World(Wakeup):
    """Clock, signals and processes of a supervisor. `plan`: for each start, how long it lives and its exit code."""

    def __init__(self, *plan: tuple[float, int], stubborn: bool = False) -> None:
        super().__init__()
        self.plan = iter(plan)
        self.stubborn = stubborn
        self.time = 1000.0
        self.starts: list[float] = []
        self.lives: list[Life] = []
        self.at: list[tuple[float, signal.Signals | str]] = []

    def start(self, number: int) -> Process:
        seconds, code = next(self.plan, (FOR_EVER, 0))
        life = Life(len(self.starts) + 1, self.time + seconds, code, stubborn=self.stubborn)
        self.starts.append(self.time - 1000.0)
        self.lives.append(life)
        return life

    def ended(self) -> Iterator[tuple[Process, int]]:
        for life in self.alive():
            if life.ends_at <= self.time:
                life.over, life.over_at = True, self.time
                yield life, life.code

    def alive(self) -> list[Life]:
        return [life for life in self.lives if not life.over]

    def sleep(self, seconds: float | None) -> None:
        moments = [life.ends_at for life in self.alive()] + [1000.0 + at for at, _ in self.at]
        wake = min([*moments, FOR_EVER if seconds is None else self.time + seconds])
        assert wake < FOR_EVER, "the supervisor would sleep for ever"
        self.time = max(self.time, wake)
        while self.at and 1000.0 + self.at[0][0] <= self.time:
            word = self.at.pop(0)[1]
            if isinstance(word, str):
                self.news.append(word)
            else:
                self.signals.append(word)

    def supervise(self, processes: int = 1, *, burst: bool = False, reload: bool = False) -> int:
        return Supervisor(
            Scripted(self),
            self,
            processes=processes,
            shutdown_timeout=SHUTDOWN_SECONDS,
            burst=burst,
            reload=reload,
            clock=lambda: self.time,
        ).run()


class Scripted(Launcher):
    def __init__(self, world: World) -> None:
        self.start = world.start  # type: ignore[method-assign]
        self.ended = world.ended  # type: ignore[method-assign]


TERM, HUP = signal.SIGTERM, signal.SIGHUP


def test_a_process_that_died_is_replaced_at_once_then_ever_later_and_at_once_again_after_a_long_life() -> None:
    world = World((1, -9), (1, -9), (1, -9), (STEADY_SECONDS + 1, -9))
    world.at = [(100, TERM)]
    assert world.supervise() == 0
    gaps = [later - earlier for earlier, later in zip(world.starts, world.starts[1:], strict=False)]
    assert gaps[0] == 1
    assert 1.5 <= gaps[1] <= 2
    assert 2 <= gaps[2] <= 3
    assert gaps[3] == pytest.approx(STEADY_SECONDS + 1)


def test_the_delay_has_a_cap_and_no_process_killed_by_signals_is_given_up() -> None:
    world = World(*[(1, -9)] * 20)
    world.at = [(1000, TERM)]
    assert world.supervise() == 0
    gaps = [later - earlier for earlier, later in zip(world.starts, world.starts[1:], strict=False)]
    assert len(gaps) == 20
    assert DELAY_SECONDS_MAX / 2 < max(gaps) <= DELAY_SECONDS_MAX + 1


def test_wrong_use_ends_everything_with_that_code() -> None:
    world = World((FOR_EVER, 0), (0.5, WRONG_USE))
    assert world.supervise(2) == WRONG_USE
    assert len(world.starts) == 2


def test_a_process_that_fails_in_the_same_way_at_every_start_ends_everything_with_its_code() -> None:
    world = World(*[(1, 7)] * START_TRIES)
    assert world.supervise() == 7
    assert len(world.starts) == START_TRIES


@pytest.mark.parametrize("code", [WRONG_USE, 7])
def test_what_has_worked_is_not_given_up_and_its_neighbours_are_not_stopped(code: int) -> None:
    world = World((FOR_EVER, 0), (STEADY_SECONDS + 1, code), *[(1, code)] * 5)
    world.at = [(300, TERM)]
    assert world.supervise(2) == 0
    assert len(world.starts) == 8


def test_a_recycled_process_is_replaced_at_once_every_time(caplog: pytest.LogCaptureFixture) -> None:
    world = World(*[(1, RECYCLED)] * 10)
    world.at = [(20, TERM)]
    assert world.supervise() == 0
    assert world.starts == [float(second) for second in range(11)]
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_in_burst_mode_a_process_that_ends_well_is_done_and_one_that_died_is_replaced() -> None:
    world = World((1, 0), (2, -9), (1, 0))
    assert world.supervise(2, burst=True) == 0
    assert world.starts == [0, 0, 2]


def test_a_process_that_ends_without_a_reason_is_replaced() -> None:
    world = World((40, 0))
    world.at = [(50, TERM)]
    assert world.supervise() == 0
    assert world.starts == [0, 40]


def test_a_stop_while_a_start_is_pending_starts_nothing_more() -> None:
    world = World((1, -9), (1, -9))
    world.at = [(2.1, TERM)]
    assert world.supervise() == 0
    assert len(world.starts) == 2


def test_a_process_that_does_not_stop_is_killed_in_the_end_and_that_is_a_failure() -> None:
    world = World(stubborn=True)
    world.at = [(5, TERM)]
    assert world.supervise() == 1
    assert world.time == 1000 + 5 + SHUTDOWN_SECONDS + KILL_SECONDS


def test_a_second_signal_is_passed_on_and_shortens_the_wait() -> None:
    world = World(stubborn=True)
    world.at = [(5, TERM), (6, TERM)]
    assert world.supervise() == 1
    assert world.time == 1000 + 6 + KILL_SECONDS
    assert world.lives[0].asked == 2


def test_a_hangup_replaces_one_process_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    world = World()
    world.at = [(100, HUP), (200, TERM)]
    assert world.supervise(3) == 0
    assert world.starts == [0, 0, 0, 100, 100 + RENEW_SECONDS, 100 + 2 * RENEW_SECONDS]


def test_a_new_process_that_cannot_start_holds_the_rolling_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    world = World(*[(FOR_EVER, 0)] * 2, *[(1, WRONG_USE)] * 50)
    world.at = [(100, HUP), (200, TERM)]
    assert world.supervise(2) == 0
    assert len(world.starts) > 5
    assert world.lives[1].over_at == 1200, "the second old process was stopped before the first new one worked"


def test_a_hangup_of_the_terminal_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    class Terminal:
        def isatty(self) -> bool:
            return world.time < 1100  # A terminal that was closed is none any more.

    monkeypatch.setattr("sys.stdin", Terminal())
    world.at = [(100, HUP)]
    assert world.supervise(2) == 0
    assert len(world.starts) == 2


def test_a_change_restarts_all_and_asks_again_after_a_while() -> None:
    world = World(stubborn=True)
    world.at = [(10, "tasks.py"), (100, TERM), (101, TERM)]
    world.supervise(2, reload=True)
    assert world.starts == [0, 0] + [10 + RELOAD_SECONDS + KILL_SECONDS] * 2
    assert [life.asked for life in world.lives] == [2] * 4


@pytest.mark.parametrize("code", [WRONG_USE, 1])
def test_broken_code_waits_for_the_next_change(code: int, caplog: pytest.LogCaptureFixture) -> None:
    world = World((STEADY_SECONDS, 0), *[(0.5, code)] * (1 if code == WRONG_USE else START_TRIES))
    world.at = [(10, "tasks.py"), (50, "tasks.py"), (100, TERM)]
    assert world.supervise(reload=True) == 0
    assert world.starts[-1] == 50
    assert "cannot start; waiting for a change of the code" in caplog.text


def test_a_process_that_the_system_refuses_to_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    start, refusals = world.start, iter([OSError("no more processes")] * 2)

    def sometimes(number: int) -> Process:
        if error := next(refusals, None):
            raise error
        return start(number)

    monkeypatch.setattr(world, "start", sometimes)
    world.at = [(100, TERM)]
    assert world.supervise() == 0
    assert len(world.starts) == 1


def test_repeats_count_only_the_same_code_in_a_row() -> None:
    pace = Pace(lambda: 0.0)
    for code in (1, 1, 3, 1, 1):
        pace.note_death(code, lived=1)
        assert not pace.cannot_start
    pace.note_death(1, lived=1)
    assert pace.cannot_start


@pytest.mark.parametrize("path", ["tasks.py", "shop/jobs/mail.py", "penstock.toml", "shop/penstock.toml"])
def test_code_is_watched(path: str) -> None:
    assert is_code(path)


@pytest.mark.parametrize(
    "path",
    ["jobs.db", "tasks.pyc", "notes.txt", "pyproject.toml", ".#tasks.py", ".venv/x.py", "venv/lib/x.py",
     "lib/site-packages/x.py", "__pycache__/x.py", "web/node_modules/x.py"],
)  # fmt: skip
def test_other_files_are_not(path: str) -> None:
    assert not is_code(path)
