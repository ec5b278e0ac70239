"""A real Prometheus scrapes the processes of a real supervisor: values arrive, and all that is named is there (O1)."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from penstock import App, JobFailed
from penstock.observe.metrics.catalogue import METRICS, PREFIX
from penstock.observe.metrics.dashboard import dashboard
from penstock.observe.metrics.rules import RULES, named, rules_file
from penstock.store.contract import StoreSample
from tests.e2e.processes import Process, until
from tests.metrics.prometheus import Prometheus, promtool

NAME = re.compile(rf"\b{PREFIX}\w+")

TASKS = """
from penstock import App

app = App("sqlite:///jobs.db")


@app.job
async def mail() -> None: ...


@app.job(attempts=1)
async def breaks() -> None:
    raise ValueError("broken")
"""

BOOT = """
import os, sys
from penstock.cli.main import main
os.chdir({folder!r})
sys.argv = ["penstock", *sys.argv[1:]]
main()
"""


@dataclass
class Scraped:
    """Where the metrics are, and who reads them."""

    place: str
    prometheus: Prometheus

    def text(self) -> str:
        with urllib.request.urlopen(self.place, timeout=30) as answer:
            found: str = answer.read().decode()
            return found

    def has(self, expression: str, value: float) -> bool:
        return self.prometheus.value(expression) == value


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("scraped")
    (folder / "tasks.py").write_text(TASKS)
    (folder / "boot").write_text(BOOT.format(folder=str(folder)))
    supervisor = Process(
        folder / "boot", ["worker", "tasks:app", "--processes", "2", "--metrics", "127.0.0.1:0", "--health", "off"]
    )
    try:
        place = supervisor.wait_for("metrics are served at").split()[-1]
        target = place.removeprefix("http://").removesuffix("/metrics")
        with Prometheus(target, rules_file(PREFIX)) as prometheus:
            supervisor.wait_for("started: 50 slots", 2)
            work(folder)
            scraped = Scraped(place, prometheus)
            until(lambda: "_sample_age_seconds " in scraped.text(), "a sample is shown")
            yield scraped
        supervisor.stop()
    finally:
        supervisor.end()


def work(folder: Path) -> None:
    """Ten jobs that end well, one that does not, one that waits for its time, one that nobody can take."""
    with App(f"sqlite:///{folder}/jobs.db") as app:
        for job in [app.enqueue("mail") for _ in range(10)]:
            job.result(timeout=30)
        with pytest.raises(JobFailed):
            app.enqueue("breaks").result(timeout=30)
        app.enqueue("mail", delay="1h")
        app.enqueue("mail", capability="gpu")
        counted, ended = app.store.count_gauges().wait(), app.store.count_ended().wait()
        # As the leader does every few seconds, and of what has ended every minute.
        app.store.store_sample(StoreSample(counted.at, 0.001, counted.gauges, ended)).wait()


def test_values_arrive(scraped: Scraped) -> None:
    expected = {
        'penstock_jobs_total{type="mail",status="completed"}': 10,
        'penstock_jobs_total{type="breaks",status="dead"}': 1,
        "penstock_queue_wait_seconds_count": 11,
        'penstock_job_duration_seconds_bucket{type="mail",le="300"}': 10,
        "sum(penstock_leader)": 1,
        'penstock_workers{status="active"}': 2,
        'penstock_dead_letters{state="dead"}': 1,
        'penstock_queue_depth{type="mail",state="scheduled"}': 1,
        'penstock_jobs_without_worker{capability="gpu"}': 1,
        "sum(penstock_supervisor_process_up)": 2,
        "penstock_worker_slots": 100,
    }
    for expression, value in expected.items():
        until(partial(scraped.has, expression, value), f"{expression} is {value}")


def test_promtool_finds_nothing_wrong_with_what_is_scraped(scraped: Scraped) -> None:
    checked = promtool("check", "metrics", text=scraped.text())
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_every_metric_of_the_catalogue_is_scraped_and_no_other(scraped: Scraped) -> None:
    wanted = {PREFIX + metric.name + "_bucket" * (metric.kind == "histogram") for metric in METRICS}
    until(lambda: wanted <= scraped.prometheus.names(), "all names have arrived")
    kinds = dict(line.split()[2:4] for line in scraped.text().splitlines() if line.startswith("# TYPE"))
    assert kinds == {PREFIX + metric.name: metric.kind for metric in METRICS}


def test_whatever_the_dashboard_and_the_rules_name_is_there_and_can_be_asked(scraped: Scraped) -> None:
    panels = json.loads(dashboard(PREFIX))["panels"]
    asked = [target["expr"].replace("$__rate_interval", "1m") for panel in panels for target in panel["targets"]]
    asked += [named(rule.when, PREFIX) for rule in RULES]
    assert len(asked) > 40
    names = {name for expression in asked for name in NAME.findall(expression)}
    until(lambda: names <= scraped.prometheus.names(), f"all of {names} have arrived")
    for expression in asked:
        scraped.prometheus.query(expression)  # One that it does not understand is an error.


def test_prometheus_takes_the_rules_and_none_fires_that_should_not(scraped: Scraped) -> None:
    until(lambda: all(rule["health"] == "ok" for rule in scraped.prometheus.rules()), "all were evaluated")
    rules = {rule["name"]: rule["state"] for rule in scraped.prometheus.rules()}
    assert rules.keys() == {rule.name for rule in RULES}
    assert {name for name, state in rules.items() if state == "firing"} == set()
