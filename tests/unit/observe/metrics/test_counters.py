"""Counts that are in no figures: refused outcomes, lost workers, webhooks."""

from __future__ import annotations

from typing import Any, cast

import pytest

from penstock.observe.events import EndedBatch, Events
from penstock.observe.metrics.counters import Counters
from penstock.observe.metrics.shown import Histogram
from penstock.observe.observed import observed
from penstock.store.contract import Finished, Recovered, RecoverJobs, Store


class Done:
    """A call that was answered."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def wait(self) -> Any:
        return self._answer


def test_all_of_them_begin_at_zero() -> None:
    shown = Counters("w").shown()
    assert (shown["lease_rejected_total"], shown["webhook_disabled_total"]) == ({(): 0}, {(): 0})
    assert shown["worker_downtime_seconds"] == {(): Histogram(0, (0,) * 8, 0)}


def test_outcomes_of_this_worker_that_the_store_refused() -> None:
    counters = Counters("w")
    events = Events(counters)
    events.ended(EndedBatch("w", (), Finished(lost=[1, 2])))
    events.ended(EndedBatch("other", (), Finished(lost=[3])))
    assert counters.shown()["lease_rejected_total"] == {(): 2}


def test_how_long_lost_workers_were_silent() -> None:
    counters = Counters("w")
    Events(counters).lost([31.0, 45.0, 700.0])
    found = counters.shown()["worker_downtime_seconds"][()]
    assert isinstance(found, Histogram)
    assert (found.count, found.up_to) == (3, (0, 0, 0, 0, 0, 0, 2, 2))
    assert found.sum == pytest.approx(776, rel=0.08)


def test_the_answers_of_a_store_are_told_of() -> None:
    """Nobody who recovers can forget it."""

    class Recovering:
        def recover_jobs(self, params: RecoverJobs) -> Done:
            return Done(Recovered(["gone"], [], silent=[60.0]))

    counters = Counters("w")
    store = observed(cast(Store, Recovering()), Events(counters))
    store.recover_jobs(RecoverJobs(30.0)).wait()
    found = counters.shown()["worker_downtime_seconds"][()]
    assert isinstance(found, Histogram)
    assert (found.count, found.up_to[-2]) == (1, 1)


def test_what_others_tell_counts_by_the_name_of_its_metric() -> None:
    counters = Counters("w")
    Events(counters).count("webhook_disabled_total")
    assert counters.shown()["webhook_disabled_total"] == {(): 1}
