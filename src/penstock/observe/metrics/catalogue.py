"""The one list of metrics: scrapes, the page of the docs, the alerting rules and the dashboard follow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.domain.figures.grid import BUCKETS

Kind = Literal["counter", "gauge", "histogram"]
Shower = Literal["worker", "store", "supervisor"]
"""Who shows it: every worker, of itself; whoever leads, of the store; a supervisor, of its processes."""
Together = Literal["sum", "max", "mean"]
"""How the gauges of several processes become one. Counters and histograms are added up."""

ATTEMPTS = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
PREFIX = "penstock_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`name` is without the prefix that all have."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    by: Shower = "worker"
    together: Together = "sum"


METRICS = (
    Metric(
        name="jobs_total", kind="counter", labels=("type", "status"),
        help="What attempts and jobs came to, by this process. One attempt may count in several.",
    ),
    Metric(name="jobs_active", kind="gauge", labels=("type",), help="Jobs that run now."),
    Metric(
        name="job_duration_seconds", kind="histogram", labels=("type",), buckets=BUCKETS,
        help="How long attempts ran.",
    ),
    Metric(
        name="job_attempts", kind="histogram", buckets=ATTEMPTS,
        help="With which attempt jobs were completed or dead.",
    ),
    Metric(
        name="queue_wait_seconds", kind="histogram", buckets=BUCKETS,
        help="From when a job was due until it began. The sum is within 8 %.",
    ),
    Metric(
        name="scheduling_latency_seconds", kind="histogram", buckets=BUCKETS,
        help="From when a job was due until it was claimed. The sum is within 8 %.",
    ),
    Metric(
        name="worker_jobs_claimed_total", kind="counter", labels=("capability",), help="Attempts that were claimed.",
    ),
    Metric(
        name="worker_jobs_completed_total", kind="counter", labels=("capability",),
        help="Attempts that were completed.",
    ),
    Metric(name="worker_jobs_failed_total", kind="counter", labels=("capability",), help="Attempts that failed."),
    Metric(
        name="worker_slots", kind="gauge",
        help="How many jobs can run here at once: batch types and process handlers have slots of their own.",
    ),
    Metric(
        name="worker_utilization", kind="gauge", together="mean",
        help="Which part of the slots is taken, from 0 to 1, of the kind of work that has the fewest free.",
    ),
    Metric(
        name="worker_downtime_seconds", kind="histogram", buckets=BUCKETS,
        help="From the last heartbeat of a worker until this process declared it lost. The sum is within 8 %.",
    ),
    Metric(
        name="lease_rejected_total", kind="counter",
        help="Outcomes that the store refused, because the job had been taken from this worker.",
    ),
    Metric(
        name="webhook_disabled_total", kind="counter", help="Webhooks that were switched off because they kept failing."
    ),
    Metric(name="leader", kind="gauge", together="max", help="1 of the process that does the duties for all, else 0."),
    Metric(
        name="build_info", kind="gauge", labels=("version",), together="max", help="Always 1, of the version that runs."
    ),
    Metric(
        name="queue_depth", kind="gauge", labels=("type", "state"), by="store", together="max",
        help="Jobs that have not ended, each in one state.",
    ),
    Metric(
        name="jobs_pending", kind="gauge", labels=("capability",), by="store", together="max",
        help="Jobs that are due and wait, also before a limit or paused.",
    ),
    Metric(
        name="jobs_without_worker", kind="gauge", labels=("capability",), by="store", together="max",
        help="Jobs that a worker could take at once, if there were one for them.",
    ),
    Metric(
        name="oldest_waiting_seconds", kind="gauge", labels=("queue",), by="store", together="max",
        help="For how long the oldest job has been due that a worker could take.",
    ),
    Metric(
        name="workers", kind="gauge", labels=("status",), by="store", together="max",
        help="Workers, but no coordinators; of lost ones those of the last hour.",
    ),
    Metric(
        name="dead_letters", kind="gauge", labels=("state",), by="store", together="max",
        help="Jobs that are dead or expired and were not retried.",
    ),
    Metric(
        name="sample_age_seconds", kind="gauge", by="store", together="max",
        help="How old the sample is from which the figures of what waits come.",
    ),
    Metric(
        name="metrics_left_out", kind="gauge", labels=("label",), by="store", together="max",
        help="How many values of a label are shown as one, (other), because there are more than a thousand.",
    ),
    Metric(
        name="supervisor_process_up", kind="gauge", labels=("process",), by="supervisor", together="max",
        help="1 of a worker process that answered its supervisor in time, else 0; then its last counts stand.",
    ),
)  # fmt: skip
BY_NAME = {metric.name: metric for metric in METRICS}
