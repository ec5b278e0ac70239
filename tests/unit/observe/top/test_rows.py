"""From a look to rows: what is added up, and what is not known."""

from __future__ import annotations

import pytest

from penstock.domain.figures.series import OTHER
from penstock.observe.top.rows import TenantWork, Work, WorkerLoad, rows_by, summed
from penstock.observe.top.tenants import heavy
from tests.unit.observe.samples import worker
from tests.unit.observe.top.looks import SECONDS, done, gauge, look, sample, tenant


def work(found: object) -> dict[str, Work]:
    assert isinstance(found, list)
    return {row.name: row for row in found if isinstance(row, Work)}


def test_a_type_has_its_figures_and_what_waits() -> None:
    send = gauge("send", oldest=60, pending=7, scheduled=3, claimed=1, running=2)
    seen = look(done("send", completed=90, failed=10), sampled=sample(send))
    (row,) = work(rows_by(seen, "type")).values()
    assert (row.completed_per_second, row.failed_per_second, row.failed_share) == (0.9, 0.1, 0.1)
    assert (row.pending, row.scheduled, row.claimed, row.running, row.slots) == (7, 3, 1, 2, 10)
    assert row.oldest_seconds == 60
    assert row.run.p50 == pytest.approx(0.5, rel=0.08)
    assert row.wait.p99 == pytest.approx(2.0, rel=0.08)


def test_the_minutes_of_a_type_and_its_queues_are_added_up() -> None:
    rows = [done("send", completed=10), done("send", at=60, completed=20), done("send", "mail", completed=30)]
    gauges = sample(gauge("send", pending=1, oldest=5), gauge("send", "mail", pending=2, oldest=9))
    (row,) = work(rows_by(look(*rows, sampled=gauges), "type")).values()
    assert (row.completed_per_second * SECONDS, row.pending, row.oldest_seconds) == (60, 3, 9)
    queues = work(rows_by(look(*rows, sampled=gauges), "queue"))
    assert {name: (one.completed_per_second * SECONDS, one.pending) for name, one in queues.items()} == {
        "default": (30, 1), "mail": (30, 2),
    }  # fmt: skip


def test_spreads_are_added_up_and_not_averaged() -> None:
    rows = [done("send", completed=98, run=0.1), done("send", at=60, completed=2, run=50.0)]
    (row,) = work(rows_by(look(*rows), "type")).values()
    assert row.run.p50 == pytest.approx(0.1, rel=0.08)
    assert row.run.p99 == pytest.approx(50.0, rel=0.08)


def test_what_nobody_has_done_or_counted_is_not_known() -> None:
    (row,) = work(rows_by(look(sampled=sample(gauge("send"))), "type")).values()
    assert (row.failed_share, row.comes_per_second, row.oldest_seconds, row.run.p50) == (None, None, None, None)
    assert work(rows_by(look(done("send", completed=1)), "type"))["send"].pending == 0
    assert rows_by(look(), "type") == []


def test_how_fast_jobs_come_is_seen_from_two_samples() -> None:
    earlier = sample(gauge("send", pending=100, running=5), age=20)
    later = sample(gauge("send", pending=300, scheduled=5), gauge("new", pending=10))
    seen = look(done("send", completed=150, failed=50, dead=50), sampled=later, before=earlier)
    found = work(rows_by(seen, "type"))
    assert found["send"].comes_per_second == pytest.approx(2 + 10)
    assert found["new"].comes_per_second == pytest.approx(0.5)


def test_what_drains_does_not_come_backwards() -> None:
    seen = look(sampled=sample(gauge("send")), before=sample(gauge("send", pending=100), age=20))
    assert work(rows_by(seen, "type"))["send"].comes_per_second == 0
    again = sample(gauge("send", pending=100))
    assert work(rows_by(look(sampled=again, before=again), "type"))["send"].comes_per_second is None


def test_slots_are_those_of_the_workers_that_take_it() -> None:
    workers = [
        worker(types=("send",), slots=3), worker(types=("send",), slots=4),
        worker(types=None, queues=("film",), slots=5),
        worker(types=("send",), slots=100, status="draining"), worker(types=("send",), slots=100, silent=99.0),
        worker(types=(), slots=1),
    ]  # fmt: skip
    gauges = sample(gauge("send"), gauge("cut", "film"), gauge("read"))
    found = work(rows_by(look(sampled=gauges, workers=workers), "type"))
    assert {name: row.slots for name, row in found.items()} == {"send": 7, "cut": 5, "read": 0}
    assert work(rows_by(look(sampled=gauges, workers=workers), "queue"))["default"].slots == 7
    assert work(rows_by(look(done("send", completed=1), workers=workers), "type"))["send"].slots == 7


def test_tenants() -> None:
    seen = look(tenants=[tenant("acme", 60, 20, 250.0), tenant("acme", 20, 0, 50.0, at=60), tenant("rest", 1)])
    assert list(rows_by(seen, "tenant")) == [
        TenantWork(
            name="acme", completed_per_second=0.8, failed_per_second=0.2, failed_share=0.2, slots_busy=3.0
        ),
        TenantWork(name="rest", completed_per_second=0.01, failed_per_second=0.0, failed_share=0.0, slots_busy=0.0),
    ]  # fmt: skip


def test_the_tenant_with_most_of_the_work_is_named() -> None:
    found = heavy(look(tenants=[tenant("acme", 1, 0, 820.0), tenant("bee", 1, 0, 100.0), tenant(OTHER, 1, 0, 80.0)]))
    assert found is not None
    assert found.text == "tenant 'acme' uses 8.2 of 10 busy slots; 2 other tenants share the rest"


@pytest.mark.parametrize(
    "ran", [{"acme": 900.0}, {"acme": 40.0, "bee": 0.0}, {"acme": 300.0, "bee": 290.0, "cee": 280.0}, {OTHER: 900.0}],
    ids=["alone", "next to nothing", "not half", "nobody by name"],
)  # fmt: skip
def test_nobody_has_most_of_the_work(ran: dict[str, float]) -> None:
    assert heavy(look(tenants=[tenant(org, 1, 0, seconds) for org, seconds in ran.items()])) is None


def test_workers_that_are_there() -> None:
    workers = [
        worker(id="a", jobs=3), worker(id="b", silent=99.0), worker(id="c", status="draining", silent=-1.0),
        worker(id="d", status="inactive", failing=True), worker(id="gone", status="inactive"),
        worker(id="lost", status="lost"), worker(id="leader", types=()),
    ]  # fmt: skip
    found = [row for row in rows_by(look(workers=workers), "worker") if isinstance(row, WorkerLoad)]
    assert [(row.name, row.status, row.jobs, row.slots, row.silent_seconds) for row in found] == [
        ("a", "active", 3, 10, 1.0), ("b", "stale", 2, 10, 99.0), ("c", "draining", 2, 10, 0.0),
        ("d", "failing", 2, 10, 1.0),
    ]  # fmt: skip


def test_all_together() -> None:
    gauges = sample(gauge("send", pending=5, running=1), gauge("cut", "film", scheduled=2, running=3))
    seen = look(done("send", completed=40, failed=10), done("cut", "film", completed=10), sampled=gauges)
    found = summed(seen)
    assert (found.completed_per_second, found.failed_per_second) == (0.5, 0.1)
    assert (found.pending, found.scheduled, found.running, found.slots, found.workers) == (5, 2, 4, 10, 1)
    assert summed(look(workers=())).workers == 0


@pytest.mark.parametrize(
    ("age", "seconds", "uncounted"), [(5, 0, False), (59, 0, False), (61, 0, True), (150, 1, False), (200, 1, True)]
)
def test_whether_anybody_counts(age: float, seconds: float, uncounted: bool) -> None:
    seen = look(sampled=sample(age=age, seconds=seconds))
    assert (seen.sample_age, seen.uncounted) == (age, uncounted)
    assert look().uncounted
    assert look().sample_age is None
