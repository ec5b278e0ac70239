"""The interval at which threads change places is shorter exactly while a worker runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from penstock.worker.switching import SWITCH_SECONDS, quick_switching

OURS = pytest.approx(SWITCH_SECONDS)


@pytest.fixture(autouse=True)
def interval() -> Iterator[float]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    yield 0.005
    sys.setswitchinterval(before)


def test_it_is_short_from_the_first_worker_to_the_last(interval: float) -> None:
    with quick_switching():
        assert sys.getswitchinterval() == OURS
        with quick_switching():
            assert sys.getswitchinterval() == OURS
        assert sys.getswitchinterval() == OURS
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_workers_may_end_in_the_order_in_which_they_began(interval: float) -> None:
    first, second = quick_switching(), quick_switching()
    with first:
        second.__enter__()
    assert sys.getswitchinterval() == OURS
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_it_is_restored_after_an_error(interval: float) -> None:
    with pytest.raises(ZeroDivisionError), quick_switching():
        raise ZeroDivisionError
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_a_shorter_one_is_left_alone() -> None:
    sys.setswitchinterval(SWITCH_SECONDS / 4)
    shorter = sys.getswitchinterval()
    with quick_switching():
        assert sys.getswitchinterval() == pytest.approx(shorter, abs=1e-6)
