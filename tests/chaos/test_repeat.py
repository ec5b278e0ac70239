"""`make repeat` counts green rounds, and stops at the first failure or at the end of its time."""

from __future__ import annotations

import sys

import pytest

from tests.repeat import main


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


GREEN = python("print('fine')")
RED = python("import sys; print('a test failed'); sys.exit(1)")
SLOW = python("import time; time.sleep(600)")


def test_all_green(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "2"], [GREEN, GREEN]) == 0
    assert "all 2 rounds are green" in capsys.readouterr().out


def test_the_first_failure_is_shown_and_ends_it_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "5"], [SLOW, RED]) == 1
    told = capsys.readouterr().out
    assert "a test failed" in told
    assert "round 1 failed, after 0 green ones" in told


@pytest.mark.long
def test_the_time_is_bounded_and_a_round_that_it_cuts_off_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rounds", "5", "--minutes", "0.01"], [GREEN, SLOW]) == 0
    assert "0.01 minutes are over: 0 of 5 rounds, all of them green" in capsys.readouterr().out
