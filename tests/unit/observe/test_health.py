"""The judgement of health (O2): every threshold from both sides, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.domain.flow.pauses import Pause, Pauses
from penstock.observe.health import (
    QUEUES_MAX,
    Check,
    Facts,
    Limits,
    PausedWork,
    Status,
    judge,
    judge_dead,
    judge_queues,
    judge_store,
    judge_workers,
    worst,
)
from tests.contract.clock import START_US
from tests.unit.observe.samples import lane, worker

WELL = Facts(durability="on disk", ping=0.002, now_us=START_US, workers=[worker()], lanes=[], dead=0)


def health_of(**changes: Any) -> dict[str, Check]:
    return {check.name: check for check in judge(replace(WELL, **changes), Limits()).checks}


def told(check: Check) -> str:
    """All that is not healthy comes with what to do about it."""
    assert (check.fix is None) == (check.status == "healthy")
    return f"{check.message} → {check.fix}"


def test_all_is_well() -> None:
    health = judge(WELL, Limits())
    assert health.status == "healthy"
    assert [(check.name, check.status, check.fix) for check in health.checks] == [
        (name, "healthy", None) for name in ("store", "workers", "queues", "dead letters")
    ]


# The store


@pytest.mark.parametrize(("ping", "status"), [(0.0, "healthy"), (0.1, "healthy"), (0.101, "degraded"), (9, "degraded")])
def test_how_soon_the_store_answers(ping: float, status: Status) -> None:
    check = judge_store(Facts(ping=ping))
    assert (check.status, f"{ping * 1000:.1f} ms" in told(check)) == (status, True)


def test_a_store_that_answers_says_what_a_commit_is_worth() -> None:
    assert judge_store(WELL).message == "answers in 2.0 ms; on disk"


@pytest.mark.parametrize(
    ("error", "message", "fix"),
    [
        ("jobs.db: locked; end the other program", "jobs.db: locked", "end the other program"),
        ("gone", "gone", "penstock doctor"),
    ],
)
def test_a_store_that_fails_is_unhealthy_with_its_message_and_the_rest_is_unknown(
    error: str, message: str, fix: str
) -> None:
    health = judge(Facts(error=error), Limits())
    store, *rest = health.checks
    assert (health.status, store.status, store.message, fix in (store.fix or "")) == (
        "unhealthy", "unhealthy", message, True,
    )  # fmt: skip
    assert [(check.status, "while the store does not answer" in check.message) for check in rest] == [
        ("unknown", True)
    ] * 3
    details = health.details
    assert (details.active_workers, details.queues, details.oldest_waiting, details.dead_letters) == (None,) * 4


def test_a_store_that_fails_after_its_first_answers_is_unhealthy_all_the_same() -> None:
    found = health_of(error="connection lost", lanes=None, dead=None)
    assert [check.status for check in found.values()] == ["unhealthy", "healthy", "unknown", "unknown"]


def test_a_store_that_stays_silent_is_unhealthy() -> None:
    health = judge(Facts(late=2.0), Limits())
    assert (health.status, "within 2s" in health.checks[0].message) == ("unhealthy", True)


def test_what_could_not_be_read_in_time_is_unknown_and_no_good_sign() -> None:
    health = judge(replace(WELL, dead=None, late=2.0), Limits())
    assert [check.status for check in health.checks] == ["healthy", "healthy", "healthy", "unknown"]
    assert "could not be read within 2s" in told(health.checks[3])
    assert health.status == "degraded"


# Workers


@pytest.mark.parametrize(
    ("active", "minimum", "status"),
    [
        (1, 1, "healthy"), (5, 1, "healthy"), (0, 1, "unhealthy"), (0, 0, "healthy"), (3, 3, "healthy"),
        (2, 3, "degraded"), (1, 3, "degraded"), (0, 3, "unhealthy"),
    ],
)  # fmt: skip
def test_enough_some_or_none(active: int, minimum: int, status: Status) -> None:
    check = judge_workers([worker(id=f"w{number}") for number in range(active)], minimum)
    assert check.status == status
    told(check)


@pytest.mark.parametrize(
    "gone",
    [
        worker(status="draining"),
        worker(status="lost"),
        worker(status="inactive"),
        worker(status="inactive", failing=True),
        worker(silent=31.0),
    ],
    ids=["draining", "lost", "ended", "failing", "stale"],
)
def test_only_workers_that_claim_count(gone: Any) -> None:
    assert judge_workers([gone], 1).status == "unhealthy"
    assert judge_workers([gone, worker()], 2).status == "degraded"


def test_the_fix_says_how_many_are_missing() -> None:
    assert "start 2 more" in told(judge_workers([worker()], 3))


# Queues


@pytest.mark.parametrize(
    ("waited", "status"),
    [(-5, "healthy"), (0, "healthy"), (300, "healthy"), (301, "degraded"), (3600, "degraded"), (3601, "unhealthy")],
)
def test_how_long_the_oldest_waits(waited: float, status: Status) -> None:
    check = judge_queues([lane(10), lane(waited, type="film", queue="media"), lane(1)], START_US)
    assert check.status == status
    assert ("'film' in queue 'media'" in told(check)) is (waited > 10)


def test_nothing_waits() -> None:
    assert judge_queues([], START_US).message == "no job waits"


# Dead letters


@pytest.mark.parametrize(
    ("dead", "threshold", "status"),
    [
        (0, 100, "healthy"), (1, 100, "degraded"), (99, 100, "degraded"), (100, 100, "unhealthy"), (0, 1, "healthy"),
        (1, 1, "unhealthy"),
    ],
)  # fmt: skip
def test_dead_letters(dead: int, threshold: int, status: Status) -> None:
    check = judge_dead(dead, threshold)
    assert (check.status, status == "healthy" or f"{dead:,} dead letter" in told(check)) == (status, True)


# The whole


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"dead": 5}, "degraded"),
        ({"dead": 100}, "unhealthy"),
        ({"ping": 0.5}, "degraded"),
        ({"workers": []}, "unhealthy"),
        ({"lanes": [lane(301)]}, "degraded"),
        ({"lanes": [lane(4000)], "dead": 1}, "unhealthy"),
    ],
    ids=str,
)
def test_the_worst_decides(changes: dict[str, Any], status: Status) -> None:
    assert judge(replace(WELL, **changes), Limits()).status == status


def test_the_limits_are_those_that_are_given() -> None:
    strict = Limits(min_workers=2, dead_letter_threshold=3)
    assert judge(WELL, strict).status == "degraded"
    assert judge(replace(WELL, workers=[worker(), worker()], dead=3), strict).status == "unhealthy"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["healthy"], "healthy"), (["healthy", "unknown"], "degraded"), (["degraded", "healthy"], "degraded"),
        (["unknown", "unhealthy", "degraded"], "unhealthy"),
    ],
)  # fmt: skip
def test_the_worst(statuses: list[Status], expected: Status) -> None:
    assert worst(statuses) == expected


def test_the_details_are_the_figures_behind_it() -> None:
    lanes = [lane(10, queue="mail", jobs=4), lane(400, queue="mail", jobs=5), lane(20, queue="bulk", jobs=1_000)]
    details = judge(replace(WELL, workers=[worker(), worker(silent=99.0)], lanes=lanes, dead=7), Limits()).details
    assert (details.active_workers, details.dead_letters, details.ping_seconds) == (1, 7, 0.002)
    assert details.queues is not None
    assert [(one.queue, one.waiting, one.more, one.oldest_seconds) for one in details.queues] == [
        ("mail", 9, False, 400.0), ("bulk", 1_000, True, 20.0),
    ]  # fmt: skip
    assert details.oldest_waiting is not None
    assert (details.oldest_waiting.type, details.oldest_waiting.seconds) == ("mail", 400.0)


def test_the_list_of_queues_is_bounded() -> None:
    lanes = [lane(number, queue=f"q{number}") for number in range(QUEUES_MAX + 50)]
    queues = judge(replace(WELL, lanes=lanes), Limits()).details.queues
    assert queues is not None
    assert (len(queues), queues[0].queue) == (QUEUES_MAX, f"q{QUEUES_MAX + 49}")


def test_the_number_of_queues_is_not() -> None:
    assert judge(replace(WELL, queues=12_345), Limits()).details.total_queues == 12_345
    assert judge(WELL, Limits()).details.total_queues is None


# What is paused

MAIL = Pause("queue", "mail", START_US - 7_200_000_000, "ann", "the provider is down")


def test_jobs_of_a_paused_queue_or_type_may_be_old_and_the_pause_is_named() -> None:
    for pause in (MAIL, Pause("type", "mail", START_US - 7_200_000_000, "ann", "the provider is down")):
        check = judge_queues([lane(99_999, queue="mail", jobs=4)], START_US, Pauses([pause]))
        assert check.status == "healthy"
        assert f"{pause} has been paused for 2h by ann: the provider is down (4 jobs waiting)" in told(check)


def test_others_are_judged_by_their_own_age_beside_it() -> None:
    lanes = [lane(99_999, queue="mail", jobs=4), lane(400, queue="rest", jobs=2)]
    check = judge_queues(lanes, START_US, Pauses([MAIL]))
    assert (check.status, "2 jobs waiting, the oldest for 6m40s" in told(check)) == ("degraded", True)
    assert "queue 'mail' has been paused" in check.message


def test_a_pause_without_jobs_is_named_too() -> None:
    check = judge_queues([], START_US, Pauses([MAIL]))
    assert (check.status, "(0 jobs waiting)" in check.message) == ("healthy", True)


def test_many_pauses_are_counted_rather_than_named() -> None:
    many = Pauses(Pause("queue", f"q{number}", START_US, "ann") for number in range(9))
    assert "4 more paused: penstock queues" in judge_queues([], START_US, many).message


def test_the_details_say_what_is_paused_and_the_oldest_is_one_that_is_not() -> None:
    lanes = [lane(99_999, queue="mail", jobs=1_000), lane(40, queue="rest", jobs=2)]
    details = judge(replace(WELL, lanes=lanes, pauses=Pauses([MAIL])), Limits()).details
    assert details.oldest_waiting is not None
    assert (details.oldest_waiting.queue, details.oldest_waiting.seconds) == ("rest", 40.0)
    assert details.paused == [
        PausedWork("queue", "mail", 7200.0, "ann", "the provider is down", waiting=1_000, more=True)
    ]
