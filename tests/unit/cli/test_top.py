"""`penstock top` without a terminal or a store: what keys do, what a screen has room for, how often it is looked."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from rich.text import Text

from penstock.cli.top import looks as module
from penstock.cli.top.cells import lasted, rate, table_of
from penstock.cli.top.keys import Keys
from penstock.cli.top.looks import Before, Looks, rest
from penstock.cli.top.screen import NOTHING, Trouble, document, page, printed
from penstock.cli.top.view import HELP, View, pressed
from penstock.domain.errors import StoreUnavailable
from penstock.observe.top.look import Look
from penstock.observe.top.order import sorts_of
from penstock.observe.top.rows import rows_by
from tests.unit.observe.samples import worker
from tests.unit.observe.top.looks import done, gauge, look, sample, tenant

VIEW = View(by="type", sort="waiting")
HOSTILE = "\x1b[2J\x07\u202e"
MANY = look(done("send", completed=5), sampled=sample(*(gauge(f"t{n:02}", pending=n, oldest=n) for n in range(30))))


def lines(seen: Look, view: View = VIEW, width: int = 120, height: int = 24, **more: object) -> list[str]:
    """What the screen shows, without the table."""
    parts = page(seen, view, "jobs.db", ago=0.0, size=(width, height), **more)  # type: ignore[arg-type]
    return [part.plain if isinstance(part, Text) else str(part) for part in parts]


# Keys


@pytest.mark.parametrize(("key", "by"), [("t", "type"), ("u", "queue"), ("n", "tenant"), ("w", "worker")])
def test_a_key_chooses_what_a_row_is(key: str, by: str) -> None:
    assert pressed(VIEW, key).by == pressed(VIEW, key.upper()).by == by


def test_an_order_is_kept_where_there_is_one() -> None:
    assert pressed(View(by="type", sort="rate"), "n") == View(by="tenant", sort="rate")
    assert pressed(View(by="type", sort="oldest"), "w") == View(by="worker", sort="jobs")


def test_s_goes_through_all_orders() -> None:
    view, seen = VIEW, []
    for _ in sorts_of("type"):
        view = pressed(view, "s")
        seen.append(view.sort)
    assert seen == [*sorts_of("type")[1:], "waiting"]


def test_p_pauses_and_question_mark_helps_and_all_else_does_nothing() -> None:
    assert pressed(VIEW, "p").paused
    assert not pressed(pressed(VIEW, "p"), "p").paused
    assert pressed(VIEW, "?").help
    assert not pressed(pressed(VIEW, "?"), "?").help
    assert all(pressed(VIEW, key) == VIEW for key in "xQ\n 1")


@pytest.fixture
def terminal() -> Iterator[tuple[int, Keys]]:
    master, slave = pty.openpty()
    bell, rings = os.pipe()
    os.write(rings, b".")
    yield master, Keys(slave)
    for fd in (master, slave, bell, rings):
        os.close(fd)


def test_keys_are_read_and_arrows_are_not_taken_for_letters(terminal: tuple[int, Keys]) -> None:
    master, keys = terminal
    bell, rings = os.pipe()
    for typed, found in ((b"tu\n", "tu\n"), (b"\x1bOt\n", ""), ("é\n".encode(), "é\n"), (b"\xff\n", "\n")):
        os.write(master, typed)
        assert "".join(keys.wait(bell, 30.0)) == found
    assert list(keys.wait(bell, 0.0)) == []
    os.write(rings, b"...")
    assert list(keys.wait(bell, 30.0)) == []
    assert list(Keys(None).wait(bell, 0.0)) == [], "the bell was heard"
    os.close(bell)
    os.close(rings)


def test_a_terminal_that_is_gone_means_to_quit() -> None:
    master, slave = pty.openpty()
    bell, rings = os.pipe()
    os.close(master)
    assert list(Keys(slave).wait(bell, 30.0)) == ["q"]
    for fd in (slave, bell, rings):
        os.close(fd)


# The screen


def test_the_title_says_what_is_shown_and_how_old_it_is() -> None:
    seen = look(done("send", completed=5), sampled=sample(gauge("send", pending=3, running=2), age=3))
    title, whole, *_ = lines(seen)
    assert title == (
        "penstock top by type, sorted by waiting, as of 3s ago, rates of the last 1m40s; jobs.db; ? for help"
    )
    assert whole == "0.05 done/s, 0 failed/s, 3 pending, 0 scheduled, 2 running, 10 slots of 1 worker"
    assert lines(seen, View(by="type", sort="waiting", paused=True))[0].startswith("penstock top paused, by type")
    assert HELP in lines(seen, View(by="type", sort="waiting", help=True))


def test_a_store_that_does_not_answer_is_in_the_header() -> None:
    told = lines(MANY, trouble=Trouble(12.0, f"gone {HOSTILE}"))[2]
    assert told.startswith("the store has not answered for 12s: gone \\x1b[2J\\x07")
    assert told.endswith("; trying again")
    assert lines(MANY, trouble=Trouble(12.0, None))[2] == "the store has not answered for 12s; trying again"


def test_without_a_sample_it_says_what_to_do() -> None:
    assert any("start a worker, or without one: penstock coordinator" in line for line in lines(look()))
    old = lines(look(sampled=sample(age=600)))
    assert "as of 10m ago" in old[0]
    assert any(line.startswith("nobody counts what waits any more: start a worker") for line in old)
    assert not any("penstock coordinator" in line for line in lines(MANY))


@pytest.mark.parametrize("by", NOTHING)
def test_where_there_is_nothing_it_says_so(by: str) -> None:
    view = View(by=by, sort="name")  # type: ignore[arg-type]
    assert lines(look(workers=()), view)[-1] == NOTHING[view.by]
    assert printed(look(workers=()), view, "jobs.db")[0] == NOTHING[view.by]


@pytest.mark.parametrize("height", [3, 8, 12, 24, 40])
def test_rows_without_room_are_counted(height: int) -> None:
    *_, last = lines(MANY, height=height)
    if height == 40:
        assert "more" not in last
        return
    more = int(last.split(" more:")[0])
    assert max(len(lines(MANY, height=height)) + 31 - more, height) == height or height < 8


def test_long_sentences_are_folded_and_take_their_room() -> None:
    seen = look(sampled=sample(gauge("import", pending=12_400), gauge("send", pending=50, oldest=240)))
    narrow = lines(seen, width=40)
    assert max(len(line) for line in narrow[:-1]) <= 40
    assert "flood: 'import' has 12,400 of 12,450 waiting jobs in queue 'default'; 'send' waits 4m there" in " ".join(
        line.strip() for line in narrow
    )


def test_hostile_names_are_shown_safely() -> None:
    seen = look(
        done(HOSTILE, HOSTILE, completed=5), sampled=sample(gauge(HOSTILE, HOSTILE, pending=500)),
        tenants=[tenant(HOSTILE, 1, 0, 900.0), tenant("bee", 1)],
        workers=[worker(id=HOSTILE, host=HOSTILE, types=None)],
    )  # fmt: skip
    for by in ("type", "queue", "tenant", "worker"):
        rows = rows_by(seen, by)
        cells = [str(cell) for column in table_of(rows, by).columns for cell in column.cells]
        assert not any(character in cell for cell in cells for character in HOSTILE[:1] + HOSTILE[-2:])
        assert not any(character in line for line in lines(seen) for character in "\x1b\x07\u202e")


def test_a_narrow_terminal_goes_without_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_by(MANY, "type")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = [column.header for column in table_of(rows, "type").columns]
    monkeypatch.setenv("COLUMNS", "200")
    wide = [column.header for column in table_of(rows, "type").columns]
    assert {"type", "done/s", "pending", "oldest", "slots"} <= set(narrow) < set(wide)


def test_the_document_has_everything() -> None:
    seen = look(
        done("send", completed=5), sampled=sample(gauge("import", pending=500), gauge("send", pending=1, oldest=60)),
        tenants=[tenant("acme", 1, 0, 900.0), tenant("bee", 1)],
    )  # fmt: skip
    found = document(seen, VIEW, "jobs.db")
    assert [row["name"] for row in found["rows"]] == ["import", "send"]
    assert found["floods"][0]["delayed"][0].type == "send"
    assert found["heavy_tenant"]["tenant"] == "acme"
    assert document(look(), VIEW, "jobs.db")["sampled_at"] is None


# Numbers


def test_numbers_have_three_digits() -> None:
    assert [rate(value) for value in (None, 0.0, 0.012, 1.234, 12.34, 123.4, 12_345.6)] == [
        "-", "0", "0.01", "1.23", "12.3", "123", "12,346",
    ]  # fmt: skip
    assert [lasted(value) for value in (None, 0.0, 0.0123, 1.234, 12.34, 252.0, 9_000.0, 200_000.0)] == [
        "-", "0ms", "12ms", "1.2s", "12s", "4m", "2h", "2d",
    ]  # fmt: skip


# Looking


def test_the_newest_sample_is_compared_with_the_oldest_of_a_minute() -> None:
    before, seen = Before(), []
    for age in (130.0, 100.0, 100.0, 50.0, 45.0, 0.0):
        found = before.known(look(sampled=sample(age=age)))
        seen.append(None if found.before is None or found.sample is None else found.sample.at - found.before.at)
    assert seen == [None, 30_000_000, 30_000_000, 50_000_000, 55_000_000, 50_000_000]


def test_a_slow_store_is_left_alone_for_nine_times_as_long_as_a_look_took() -> None:
    assert [rest(2.0, took) for took in (0.001, 0.2, 1.0, 30.0)] == [2.0, 2.0, 9.0, 270.0]


class Answers:
    """A store whose looks answer when they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.opened = self.closed = 0
        self.answer: Look | BaseException = MANY
        monkeypatch.setattr(module, "look", self._look)
        monkeypatch.setattr(module, "LATE_SECONDS", 600.0)
        self.looks = Looks(self._open, look(), 0.001)

    def trouble(self) -> Trouble | None:
        return self.looks.trouble

    def _open(self) -> Any:
        self.opened += 1
        return self

    def close(self) -> None:
        self.closed += 1

    def _look(self, store: Any) -> Look:
        self.asked.release()
        assert self.answered.acquire(timeout=30.0)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def give(self, answer: Look | BaseException) -> None:
        """Answer a look, and wait until it was noted."""
        assert self.asked.acquire(timeout=30.0)
        self.answer = answer
        self.answered.release()
        assert os.read(self.looks.bell, 1)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    made = Answers(monkeypatch)
    yield made
    made.answered.release()
    made.looks.end()


def test_a_store_that_fails_is_told_opened_anew_and_well_again(answers: Answers) -> None:
    answers.give(MANY)
    assert answers.looks.newest.page is MANY.page
    assert (answers.trouble(), answers.opened, answers.closed) == (None, 1, 0)
    for _ in range(2):
        answers.give(StoreUnavailable("no server"))
        trouble = answers.trouble()
        assert trouble is not None
        assert trouble.error is not None
        assert "no server" in trouble.error
        assert answers.looks.newest.page is MANY.page, "what was seen last stays"
    assert (answers.opened, answers.closed) == (2, 2)
    answers.give(look())
    assert answers.trouble() is None
    assert answers.looks.newest.page is not MANY.page


def test_a_look_that_hangs_is_told_and_not_waited_for(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers.asked.acquire(timeout=30.0)
    assert answers.trouble() is None
    monkeypatch.setattr(module, "LATE_SECONDS", 0.0)
    trouble = answers.trouble()
    assert trouble is not None
    assert trouble.error is None
    monkeypatch.setattr(module, "END_SECONDS", 0.0)
    answers.looks.end()
    assert answers.closed == 0


def test_a_defect_ends_the_looking(answers: Answers) -> None:
    defect = RuntimeError("a defect")
    answers.give(defect)
    assert answers.looks.failure is defect


def test_after_the_clock_was_set_back_it_begins_anew() -> None:
    before = Before()
    before.known(look(sampled=sample(age=0.0)))
    assert before.known(look(sampled=sample(age=500.0))).before is None
    assert before.known(look()).sample is None
