"""When an error is a snooze, for how long, and what it is once there were too many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock import ConfigError, DoNotRetry, Retry, Snooze
from penstock.domain.failure.retry import GiveUp, PutOff, RetryAt, Verdict, decide, put_off
from penstock.domain.options import Fixed, Policy

POLICY = Policy(attempts=3, snoozes=2, backoff=Fixed(4))


def verdict(error: BaseException, attempt: int = 1, policy: Policy = POLICY) -> Verdict:
    return decide(policy, attempt, error, lambda: 0.5, 0)


class Silent(Snooze):
    """A class of a user's own that forgets to say how long."""

    def __init__(self) -> None:
        pass


class Strange(Snooze):
    delay: Any

    def __init__(self, delay: Any) -> None:
        self.delay = delay


@pytest.mark.parametrize(
    ("delay", "seconds"), [("10m", 600.0), (0, 0.0), (1.5, 1.5), (timedelta(hours=1), 3600.0), ("100ms", 0.1)]
)
def test_a_snooze_takes_a_duration(delay: Any, seconds: float) -> None:
    assert put_off(POLICY, 0, Snooze(delay, "the breaker is open")) == PutOff(seconds, "the breaker is open")


@pytest.mark.parametrize(
    "delay", [-1, "-5m", float("nan"), float("inf"), 1e300, 10**400, "soon", None, True, [], "200000d"], ids=repr
)
def test_what_is_no_duration_is_an_error_where_it_is_raised(delay: Any) -> None:
    with pytest.raises(ConfigError, match=r"^Snooze\(delay\)="):
        Snooze(delay)


@pytest.mark.parametrize("error", [Silent(), Strange("soon"), Strange(float("nan")), Strange(-1), Strange(None)])
def test_one_that_does_not_say_how_long_is_an_ordinary_failure(error: Snooze) -> None:
    assert put_off(POLICY, 0, error) is None
    assert verdict(error) == RetryAt(4)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        Retry(5),
        RuntimeError("from a snooze"),
        ExceptionGroup("tasks", [Snooze(1), ValueError()]),
        ExceptionGroup("tasks", [Snooze(1), DoNotRetry()]),
    ],
    ids=str,
)
def test_other_errors_are_none_nor_one_beside_others(error: Exception) -> None:
    error.__cause__ = Snooze(1) if isinstance(error, RuntimeError) else None
    assert put_off(POLICY, 0, error) is None


def test_of_a_group_of_snoozes_the_longest_counts() -> None:
    group = ExceptionGroup("tasks", [Snooze(1, "short"), ExceptionGroup("more", [Snooze("1m", "long"), Snooze(2)])])
    assert put_off(POLICY, 0, group) == PutOff(60.0, "long")


def test_the_last_one_is_the_one_that_the_option_allows() -> None:
    assert [put_off(POLICY, before, Snooze(1)) is not None for before in range(4)] == [True, True, False, False]
    assert put_off(Policy(snoozes=0), 0, Snooze(1)) is None
    assert put_off(Policy(), 99, Snooze(1)) is not None
    assert put_off(Policy(), 100, Snooze(1)) is None


def test_one_too_many_is_a_failure_that_says_so_and_waits_as_long_as_it_asked() -> None:
    assert verdict(Snooze("10m")) == RetryAt(600.0, "all 2 snoozes used: the attempt failed")
    assert verdict(Snooze("10m"), attempt=3) == GiveUp("all 2 snoozes used, all 3 attempts used")
    never = Policy(attempts=1, snoozes=0)
    assert verdict(Snooze(1), policy=never) == GiveUp("it may not be snoozed, its only attempt was used")


def test_beside_another_error_its_wait_still_counts() -> None:
    assert verdict(ExceptionGroup("tasks", [Snooze("10m"), ValueError()])) == RetryAt(600.0)
    assert isinstance(verdict(ExceptionGroup("tasks", [Snooze("10m"), DoNotRetry()])), GiveUp)


def test_a_message_that_is_too_long_is_cut() -> None:
    found = put_off(POLICY, 0, Snooze(1, "x" * 100_000))
    assert found is not None
    assert len(found.message) < 5_000
