"""What a scrape reads: names, labels, buckets and sums."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from penstock.domain.figures.grid import BUCKETS, place_of
from penstock.domain.figures.series import OTHER, OTHERS, Count, Figures, Route, Tally
from penstock.observe.metrics.catalogue import METRICS
from penstock.observe.metrics.exposition import expose
from penstock.observe.metrics.of_worker import Now, of_worker
from penstock.observe.metrics.shown import Shown, spread_out
from tests.unit.observe.metrics.reading import scraped, value

NOBODY = Now(active={})


def tally(**figures: Figures) -> Tally:
    return Tally({Route(name, "default", "general"): one for name, one in figures.items()})


@pytest.mark.parametrize("name", ['say "hi"', "two\nlines", "back\\slash", "a\\n b", "größe 🐟", "{}=,", " "])
def test_any_name_of_a_type_comes_through(name: str) -> None:
    shown: Shown = {"jobs_active": {(name,): 3.0}}
    assert value(scraped(shown), "penstock_jobs_active", type=name) == 3


def test_counts_of_a_type_are_added_over_its_routes() -> None:
    both = Tally({
        Route("mail", "a", "general"): Figures({Count.STARTED: 2, Count.COMPLETED: 2}, claimed=2),
        Route("mail", "b", "gpu"): Figures({Count.STARTED: 1, Count.FAILED: 1}, claimed=5),
    })  # fmt: skip
    found = scraped(of_worker(both, NOBODY))
    counted = {status.value: value(found, "penstock_jobs_total", type="mail", status=status) for status in Count}
    assert counted == dict.fromkeys(Count, 0) | {"started": 3, "completed": 2, "failed": 1}
    for capability, claimed, completed, failed in (("general", 2, 2, 0), ("gpu", 5, 0, 1)):
        assert value(found, "penstock_worker_jobs_claimed_total", capability=capability) == claimed
        assert value(found, "penstock_worker_jobs_completed_total", capability=capability) == completed
        assert value(found, "penstock_worker_jobs_failed_total", capability=capability) == failed


def test_a_type_that_never_ran_has_counts_from_the_beginning() -> None:
    found = scraped(of_worker(Tally(), Now(types=("mail",), active={}, slots=4)))
    assert value(found, "penstock_jobs_total", type="mail", status="dead") == 0
    assert value(found, "penstock_job_duration_seconds_count", type="mail") == 0
    assert value(found, "penstock_jobs_active", type="mail") == 0
    assert value(found, "penstock_worker_utilization") == 0


def test_a_duration_is_in_every_bucket_that_it_does_not_exceed() -> None:
    seconds = (0.05, 0.1, 0.3, 1.0, 7.0, 400.0)
    running: dict[int, int] = {}
    for one in seconds:
        running[place_of(one)] = running.get(place_of(one), 0) + 1
    found = scraped(of_worker(tally(mail=Figures(running=running, ran=sum(seconds))), NOBODY))

    def bucket(bound: str) -> float:
        return value(found, "penstock_job_duration_seconds_bucket", type="mail", le=bound)

    assert [bucket(bound) for bound in ("0.1", "0.5", "1", "5", "10", "30", "60", "300", "+Inf")] == [
        2, 3, 4, 4, 5, 5, 5, 5, 6,
    ]  # fmt: skip
    assert value(found, "penstock_job_duration_seconds_count", type="mail") == 6
    assert value(found, "penstock_job_duration_seconds_sum", type="mail") == sum(seconds)
    assert BUCKETS == (0.1, 0.5, 1, 5, 10, 30, 60, 300)


def test_the_sum_of_waits_is_near() -> None:
    waits = (0.02, 0.5, 3.3, 42.0, 900.0)
    found = scraped(of_worker(tally(mail=Figures(waiting={place_of(one): 1 for one in waits})), NOBODY))
    assert value(found, "penstock_queue_wait_seconds_sum") == pytest.approx(sum(waits), rel=0.08)


def test_attempts_are_counted_up_to_a_hundred() -> None:
    found = scraped(of_worker(tally(mail=Figures(attempts={1: 5, 3: 2, 101: 1})), NOBODY))
    assert value(found, "penstock_job_attempts_bucket", le="1") == 5
    assert value(found, "penstock_job_attempts_bucket", le="3") == 7
    assert value(found, "penstock_job_attempts_bucket", le="100") == 7
    assert value(found, "penstock_job_attempts_count") == 8
    assert value(found, "penstock_job_attempts_sum") == 5 + 6 + 101


def test_a_sum_does_not_fall_when_routes_come_in_another_order() -> None:
    """To Prometheus the smallest step down is a restart, and all before it is added once more."""
    parts = [0.1, 1e9, 0.2, 1e-7, 0.3]
    routes = {Route("mail", str(number), "general"): Figures(ran=ran) for number, ran in enumerate(parts)}
    sums = {
        value(scraped(of_worker(Tally(dict(order)), NOBODY)), "penstock_job_duration_seconds_sum", type="mail")
        for order in (list(routes.items()), list(reversed(routes.items())))
    }
    assert sums == {math.fsum(parts)}


def test_how_a_worker_is() -> None:
    found = scraped(of_worker(Tally(), Now(leads=True, slots=8, busy=0.25, types=("mail", "film"), active={"film": 2})))
    assert value(found, "penstock_leader") == 1
    assert value(found, "penstock_worker_slots") == 8
    assert value(found, "penstock_worker_utilization") == 0.25
    assert value(found, "penstock_jobs_active", type="film") == 2
    assert [name for name, _ in found if name == "penstock_build_info"]


def test_the_prefix_is_on_every_name_and_all_have_a_help() -> None:
    shown = {
        metric.name: {tuple("x" for _ in metric.labels): spread_out({3: 1}, metric.buckets)
                      if metric.kind == "histogram" else 1.0}
        for metric in METRICS if metric.name != "job_attempts"
    }  # fmt: skip
    text = expose(shown, "shop_").decode()
    assert "penstock" not in "".join(line for line in text.splitlines() if not line.startswith("# HELP"))
    for metric in METRICS:
        if metric.name in shown:
            assert f"# TYPE shop_{metric.name} {metric.kind}\n" in text
            assert f"# HELP shop_{metric.name} {metric.help}\n" in text


def test_the_library_is_loaded_by_the_first_scrape_and_not_before() -> None:
    program = (
        "import sys, penstock.worker.worker, penstock.worker.lone_coordinator, penstock.supervisor.process_metrics\n"
        "assert 'prometheus_client' not in sys.modules\n"
        "from penstock.worker.liveness.own_metrics import exposed\n"
        "exposed({}, 'penstock_')\n"
        "assert 'prometheus_client' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_more_types_are_shown_than_are_counted_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is counted among the others is not shown as one of which there was nothing."""
    monkeypatch.setattr("penstock.observe.metrics.of_worker.TYPES_MAX", 3)
    types, active = tuple(f"t{number}" for number in range(10)), {"t9": 2, "t1": 1}
    few = scraped(of_worker(Tally(), Now(leads=True, slots=8, types=types, active=active)))
    names = {dict(labels)["type"] for name, labels in few if name == "penstock_jobs_total"}
    assert names == {"t0", "t1", "t2"}
    shown = {dict(labels)["type"]: number for (name, labels), number in few.items() if name == "penstock_jobs_active"}
    assert shown == {"t9": 2.0, "t1": 1.0, "t0": 0.0, OTHER: 0.0}
    tally = Tally()
    tally.of(OTHERS).count(Count.COMPLETED)
    many = scraped(of_worker(tally, Now(leads=True, slots=8, types=types, active={})))
    assert {dict(labels)["type"] for name, labels in many if name == "penstock_jobs_total"} == {OTHER}
