"""Several processes as one: what is added up, what is not, and what is kept of those that are gone."""

from __future__ import annotations

import pytest

from penstock.observe.metrics.shown import Histogram, Shown, counts, pack, together, unpack

ONE: Shown = {
    "jobs_total": {("mail", "started"): 3.0, ("mail", "dead"): 0.0},
    "queue_wait_seconds": {(): Histogram(3, (1, 2, 3, 3, 3, 3, 3, 3), 0.5)},
    "jobs_active": {("mail",): 2.0},
    "worker_utilization": {(): 0.5},
    "leader": {(): 0.0},
    "dead_letters": {("dead",): 7.0},
}
OTHER: Shown = {
    "jobs_total": {("mail", "started"): 4.0, ("film", "started"): 1.0},
    "queue_wait_seconds": {(): Histogram(2, (0, 0, 0, 1, 1, 1, 1, 2), 1.25)},
    "jobs_active": {("mail",): 1.0, ("film",): 1.0},
    "worker_utilization": {(): 1.0},
    "leader": {(): 1.0},
    "dead_letters": {("dead",): 8.0},
}


def test_counts_and_histograms_are_added_and_gauges_as_the_catalogue_says() -> None:
    assert together([ONE, OTHER]) == {
        "jobs_total": {("mail", "started"): 7, ("mail", "dead"): 0, ("film", "started"): 1},
        "queue_wait_seconds": {(): Histogram(5, (1, 2, 3, 4, 4, 4, 4, 5), 1.75)},
        "jobs_active": {("mail",): 3, ("film",): 1},
        "worker_utilization": {(): 0.75},
        "leader": {(): 1},
        "dead_letters": {("dead",): 8},
    }


def test_nothing_is_nothing() -> None:
    assert together([]) == together([{}]) == {}


def test_of_a_process_that_is_gone_the_counts_stay() -> None:
    assert counts(ONE).keys() == {"jobs_total", "queue_wait_seconds"}


@pytest.mark.parametrize("shown", [ONE, OTHER, {}, {"jobs_active": {('a "\n\\ ü',): 1e300}}])
def test_it_is_sent_as_it_is(shown: Shown) -> None:
    assert unpack(pack(shown)) == shown
