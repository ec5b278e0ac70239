"""When a signal's handler may raise, and that what is taken then is not lost: on the interpreter that runs this."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from penstock.store.interrupts import give, take, whole
from tests.e2e.interrupted import SIGNAL, Interrupts

MOMENTS_MAX = 500


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    before = signal.getsignal(SIGNAL)
    yield Interrupts()
    signal.signal(SIGNAL, before)


def at_every_moment(interrupts: Interrupts, work: Callable[[], object], look: Callable[[], None], gap: int = 0) -> None:
    for moment in range(1, MOMENTS_MAX):
        ended = interrupts.during(work, moment, gap or None)
        look()
        if ended:
            assert moment > 1
            return
    pytest.fail("the work does not end")


def test_a_lock_that_a_with_statement_holds_is_let_go(interrupts: Interrupts) -> None:
    lock = threading.Lock()

    def work() -> None:
        with lock:
            for number in range(2):
                str(number)
        with lock:
            return [str(number) for number in range(2)]  # type: ignore[return-value]

    def look() -> None:
        assert not lock.locked()

    at_every_moment(interrupts, work, look)


@pytest.mark.parametrize("gap", [0, 1, 2, 3, 5])
def test_what_is_taken_is_given_back_once(interrupts: Interrupts, gap: int) -> None:
    places, held = ["a", "b"], list[str]()

    def clean(held: list[str]) -> None:
        while held:
            give(held, places.append)

    def working(held: list[str]) -> None:
        take(held, places.pop)
        take(held, places.pop, 0)
        give(held, places.append)
        give(held, places.append)

    def look() -> None:
        for _ in range(1000):
            if not held:
                break
            threading.Event().wait(0.01)  # A thread does the rest.
        assert sorted(places) == ["a", "b"]

    at_every_moment(interrupts, lambda: whole(working, clean, held), look, gap)


def test_work_that_fails_is_cleaned_up_after() -> None:
    cleaned: list[str] = []

    def fails(what: str) -> None:
        raise ZeroDivisionError(what)

    with pytest.raises(ZeroDivisionError, match="this"):
        whole(fails, cleaned.append, "this")
    assert cleaned == ["this"]
    assert whole(str, cleaned.append, 1) == "1"
    assert cleaned == ["this"]
