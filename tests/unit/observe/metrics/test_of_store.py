"""What is shown of the store: depths, ages, workers and dead letters, and not too many values of a label."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.series import OTHER, Route
from penstock.observe.metrics.of_store import VALUES_MAX, StoreFacts, StoreShown
from penstock.store.contract import Depth, Ended, Gauge, Sample
from tests.unit.observe.samples import worker

NOW_US = 1_000_000 * MICROSECONDS


def gauge(type: str = "mail", queue: str = "default", capability: str = "general", *, waited: float | None = None,
          workers: int = 1, **depth: int) -> Gauge:  # fmt: skip
    due = None if waited is None else NOW_US - int(waited * MICROSECONDS)
    return Gauge(route=Route(type, queue, capability), depth=Depth(**depth), oldest_due_at=due, workers=workers)


def shown(*gauges: Gauge, ended: Ended | None = None, later: float = 0.0, aged: float = 2.0) -> Any:
    sample = Sample(at=NOW_US - int(aged * MICROSECONDS), seconds=0.1, gauges=gauges, ended=ended)
    return StoreShown()(StoreFacts(sample, (), NOW_US), later)


def test_every_job_is_in_one_state() -> None:
    one = gauge(pending=10, ready=6, blocked=3, scheduled=5, retrying=2, claimed=1, running=4)
    depth = shown(one, gauge(queue="other", pending=1))["queue_depth"]
    assert depth == {
        ("mail", "pending"): 8, ("mail", "blocked"): 3, ("mail", "scheduled"): 5, ("mail", "claimed"): 1,
        ("mail", "running"): 4,
    }  # fmt: skip
    assert sum(depth.values()) == one.depth.unended + 1


def test_what_waits_by_capability_and_what_has_no_worker() -> None:
    found = shown(gauge(pending=10, ready=6), gauge("film", capability="gpu", pending=4, ready=3, workers=0))
    assert found["jobs_pending"] == {("general",): 10, ("gpu",): 4}
    assert found["jobs_without_worker"] == {("general",): 0, ("gpu",): 3}


def test_ages_go_on_while_nobody_looks() -> None:
    found = shown(gauge(queue="a", waited=30), gauge("film", "a", waited=90), gauge(queue="b"), later=5)
    assert found["oldest_waiting_seconds"] == {("a",): 95, ("b",): 0}
    assert found["sample_age_seconds"] == {(): 7}


def test_dead_letters_are_unknown_until_they_are_counted() -> None:
    assert "dead_letters" not in shown()
    assert shown(ended=Ended(dead=3, expired=1))["dead_letters"] == {("dead",): 3, ("expired",): 1}


def test_workers_by_status_without_coordinators_and_those_long_lost() -> None:
    workers = [
        worker(), worker(), worker(status="draining"), worker(silent=99.0), worker(status="inactive", failing=True),
        worker(status="lost", silent=60.0), worker(status="lost", silent=7200.0), worker(status="inactive"),
        worker(types=()),
    ]  # fmt: skip
    found = StoreShown()(StoreFacts(None, workers, NOW_US))
    assert found == {"workers": {("active",): 2, ("draining",): 1, ("stale",): 1, ("failing",): 1, ("lost",): 1}}


def test_more_types_than_are_shown_are_one_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    few, many = VALUES_MAX, VALUES_MAX + 25
    show, sample = StoreShown(), Sample(
        at=NOW_US, seconds=0.1, ended=None,
        gauges=[gauge(f"t{number}", pending=number + 1, ready=number + 1) for number in range(many)],
    )  # fmt: skip
    for _ in range(2):
        found = show(StoreFacts(sample, (), NOW_US))
    names = {name for name, _ in found["queue_depth"]}
    assert len(names) == few + 1
    assert found["queue_depth"][(OTHER, "pending")] == sum(range(1, 26))
    assert sum(value for value in found["queue_depth"].values() if isinstance(value, float)) == sum(range(1, many + 1))
    assert found["metrics_left_out"] == {("type",): 25, ("queue",): 0, ("capability",): 0}
    assert [record.getMessage() for record in caplog.records] == [
        "metrics show 1000 of the values of type, and 25 more as (other)"
    ]
