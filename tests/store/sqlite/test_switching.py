"""The interval at which threads change places is shorter exactly while the writer has something to do."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from penstock import App
from penstock.store.sqlite.connection import switching
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.switching import SWITCH_SECONDS, begin_quick_switching, end_quick_switching
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.sqlite.connection.writer import Ticket, Writer

OURS = pytest.approx(SWITCH_SECONDS)


@pytest.fixture(autouse=True)
def interval() -> Iterator[float]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.004)
    yield sys.getswitchinterval()
    sys.setswitchinterval(before)


def test_it_is_short_from_the_first_write_to_the_last(interval: float) -> None:
    begin_quick_switching("a")
    begin_quick_switching("b")
    assert sys.getswitchinterval() == OURS
    end_quick_switching("a")
    assert sys.getswitchinterval() == OURS
    begin_quick_switching("c")
    end_quick_switching("bc")
    assert sys.getswitchinterval() == interval


def test_a_shorter_one_is_left_alone() -> None:
    sys.setswitchinterval(SWITCH_SECONDS / 4)
    shorter = sys.getswitchinterval()
    begin_quick_switching("a")
    assert sys.getswitchinterval() == shorter
    end_quick_switching("a")
    assert sys.getswitchinterval() == shorter


@pytest.mark.parametrize("microseconds", [201, 999, 4_001, 5_000, 33_333])
def test_it_does_not_shrink_with_every_write(microseconds: int) -> None:
    sys.setswitchinterval(microseconds / 1_000_000)
    before = sys.getswitchinterval()
    for _ in range(10):
        begin_quick_switching("a")
        end_quick_switching("a")
    assert sys.getswitchinterval() == before


def test_what_somebody_sets_meanwhile_stays() -> None:
    begin_quick_switching("a")
    sys.setswitchinterval(0.01)
    end_quick_switching("a")
    assert sys.getswitchinterval() == pytest.approx(0.01)


def test_a_child_that_was_forked_during_a_write_has_its_own_interval_and_can_write() -> None:
    begin_quick_switching("a")
    with switching._lock:  # As if another thread had held it.
        pid = os.fork()
        if pid == 0:
            restored = abs(sys.getswitchinterval() - 0.004) < 1e-6
            begin_quick_switching("a")
            os._exit(0 if restored else 1)
    end_quick_switching("a")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class File:
    path = "nowhere"

    def __init__(self) -> None:
        self.gate = threading.Lock()

    def begin(self, durable: bool) -> Tx:
        return None  # type: ignore[return-value]

    def commit(self, tx: Tx) -> None: ...
    def rollback(self) -> None: ...
    def committed(self, tx: Tx) -> None: ...
    def pay(self) -> None: ...
    def owes(self) -> None:
        return None


def test_the_writer_shortens_it_from_handing_in_to_the_answer(interval: float) -> None:
    file = File()
    writer = Writer(cast(OpenFile, file))
    seen: list[float] = []

    def fails(tx: Tx) -> None:
        raise ZeroDivisionError

    with file.gate:  # The writer cannot begin yet.
        writer.submit(Ticket(lambda _: seen.append(sys.getswitchinterval()), durable=False))
        writer.submit(Ticket(fails, durable=False))
        assert sys.getswitchinterval() == OURS
    writer.close()
    assert seen[0] == OURS
    assert sys.getswitchinterval() == interval


def test_it_is_what_it_was_after_real_writes(tmp_path: Path, interval: float) -> None:
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.job
    def nothing() -> None: ...

    for _ in range(3):
        nothing.enqueue()
    app.enqueue_many(nothing.bind() for _ in range(2000))
    app.close()
    assert sys.getswitchinterval() == interval
