"""A trouble is told when it begins, then ever more rarely, and when it is over; once for all who meet it."""

from __future__ import annotations

import logging

import pytest

from penstock.observe.trouble import AGAIN_SECONDS_MAX, Trouble

log = logging.getLogger("penstock.test")


class Time:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Those that people see; the list grows."""
    caplog.set_level(logging.INFO)
    told: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    handler = Kept()
    log.addHandler(handler)
    return told


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(autouse=True)
def nobody_else_hears() -> None:
    log.handlers.clear()


def test_an_outage_of_an_hour_takes_a_few_lines(time: Time, lines: list[str]) -> None:
    claims = Trouble(log, now=time).part()
    for _ in range(7 * 3600):
        claims.failed("could not claim", ConnectionError("postgresql://u:hunter2@h is away"))
        time.seconds += 1 / 7
    claims.worked()
    assert lines[0] == "could not claim: postgresql://u:***@h is away; trying again"
    assert lines[1] == "the store does not answer, or not to all, for 10s: could not claim"
    assert lines[-1] == "the store is well again, after 1h"
    assert len(lines) < 8 + 3600 / AGAIN_SECONDS_MAX
    assert all(len(line) < 100 for line in lines)


def test_it_is_told_once_for_all(time: Time, lines: list[str]) -> None:
    trouble = Trouble(log, now=time)
    claims, others, outcomes, beats = trouble.part(), trouble.part(), trouble.part(), trouble.part(passing=True)
    for _ in range(30):
        time.seconds += 0.1
        for part, what in ((claims, "could not claim"), (others, "could not claim"), (beats, "heartbeat not stored"),
                           (outcomes, "outcomes of 3 jobs not stored yet")):  # fmt: skip
            part.failed(what, OSError("away"))
    claims.worked()
    others.worked()
    assert lines == ["could not claim: away; trying again"]
    outcomes.worked("outcomes of 3 jobs stored")
    assert lines[1:] == ["the store is well again, after 2.9s: outcomes of 3 jobs stored"]
    beats.worked()
    claims.worked()
    assert len(lines) == 2


def test_the_next_one_is_another(time: Time, lines: list[str]) -> None:
    trouble = Trouble(log, "claims are still refused", "claims are no longer refused", time)
    part = trouble.part()
    for number in range(3):
        part.failed("claim refused", OSError(f"number {number}"))
        time.seconds += 1
        part.worked()
    assert lines == [
        line
        for number in range(3)
        for line in (f"claim refused: number {number}; trying again", "claims are no longer refused, after 1s")
    ]


def test_one_that_tries_now_and_then_does_not_hold_up_the_end(time: Time, lines: list[str]) -> None:
    trouble = Trouble(log, now=time)
    claims, beats = trouble.part(), trouble.part(passing=True)
    beats.failed("heartbeat not stored", OSError("away"))
    claims.failed("could not claim", OSError("away"))
    beats.worked()
    assert len(lines) == 1
    claims.worked()
    assert len(lines) == 2
    beats.failed("heartbeat not stored", OSError("away"))
    beats.worked()
    assert [line[:9] for line in lines] == ["heartbeat", "the store", "heartbeat", "the store"]
