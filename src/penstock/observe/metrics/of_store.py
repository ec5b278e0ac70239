"""What whoever leads shows of the store: from the sample of what waits, and from the workers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.series import OTHER
from penstock.domain.job import State
from penstock.observe.metrics.shown import Series, Shown
from penstock.store.contract import Gauge, Sample, WorkerInfo

VALUES_MAX = 1_000
"""Of one label; the others are shown as one."""
LOST_SECONDS = 3600.0
STATUSES = ("active", "draining", "stale", "failing", "lost")

log = logging.getLogger("penstock.metrics")


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What was read, and when by the store's clock. Without a sample nobody has made one yet."""

    sample: Sample | None
    workers: Sequence[WorkerInfo]
    now_us: int


class StoreShown:
    """Says once of each label that not all of its values are shown."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, facts: StoreFacts, later: float = 0.0) -> Shown:
        """`later` are the seconds since it was read."""
        workers: Shown = {"workers": _workers(facts.workers)}
        if facts.sample is None:
            return workers
        return {**workers, **self._sampled(facts.sample, facts.now_us + later * MICROSECONDS)}

    def _sampled(self, sample: Sample, now_us: float) -> Shown:
        left_out: Series = {}

        def each(label: str, named: Callable[[Gauge], str]) -> Mapping[str, list[Gauge]]:
            found, left = _capped(_grouped(sample.gauges, named))
            left_out[(label,)] = float(left)
            if left:
                self._tell(label, left)
            return found

        types = each("type", lambda gauge: gauge.route.type)
        queues = each("queue", lambda gauge: gauge.route.queue)
        capabilities = each("capability", lambda gauge: gauge.route.capability)
        return {
            "queue_depth": {(n, state): float(jobs) for n, found in types.items() for state, jobs in _depth(found)},
            "jobs_pending": _summed(capabilities, lambda gauge: gauge.depth.pending),
            "jobs_without_worker": _summed(capabilities, lambda gauge: 0 if gauge.workers else gauge.depth.ready),
            "oldest_waiting_seconds": {(name,): _oldest(found, now_us) for name, found in queues.items()},
            "sample_age_seconds": {(): max(0.0, (now_us - sample.at) / MICROSECONDS)},
            "metrics_left_out": left_out,
            **_dead_letters(sample),
        }

    def _tell(self, label: str, left: int) -> None:
        if label not in self._told:
            self._told.add(label)
            log.warning("metrics show %d of the values of %s, and %d more as %s", VALUES_MAX, label, left, OTHER)


def status_of(worker: WorkerInfo) -> str:
    """In the words of people: one that is failing is inactive until it answers again."""
    return "stale" if worker.stale else "failing" if worker.failing and worker.status == "inactive" else worker.status


def _workers(workers: Iterable[WorkerInfo]) -> Series:
    found = Counter(status_of(one) for one in workers if not one.coordinates and _is_recent(one))
    return {(status,): float(found[status]) for status in STATUSES}


def _is_recent(worker: WorkerInfo) -> bool:
    return worker.status != "lost" or worker.silent < LOST_SECONDS


def _dead_letters(sample: Sample) -> Shown:
    ended = sample.ended
    return {"dead_letters": {("dead",): float(ended.dead), ("expired",): float(ended.expired)}} if ended else {}


def _grouped(gauges: Iterable[Gauge], named: Callable[[Gauge], str]) -> dict[str, list[Gauge]]:
    found: dict[str, list[Gauge]] = {}
    for gauge in gauges:
        found.setdefault(named(gauge), []).append(gauge)
    return found


def _capped(found: dict[str, list[Gauge]]) -> tuple[Mapping[str, list[Gauge]], int]:
    """The values with the most jobs, the others as one, and how many those are."""
    if len(found) <= VALUES_MAX:
        return found, 0
    ranked = sorted(found, key=lambda name: (-sum(gauge.depth.unended for gauge in found[name]), name))
    kept = {name: found[name] for name in ranked[:VALUES_MAX]}
    kept[OTHER] = [*kept.get(OTHER, ()), *(gauge for name in ranked[VALUES_MAX:] for gauge in found[name])]
    return kept, len(ranked) - VALUES_MAX


def _depth(gauges: Sequence[Gauge]) -> Iterable[tuple[str, int]]:
    depths = [gauge.depth for gauge in gauges]
    yield State.PENDING.value, sum(one.pending - one.blocked for one in depths)
    yield State.BLOCKED.value, sum(one.blocked for one in depths)
    yield State.SCHEDULED.value, sum(one.scheduled for one in depths)
    yield State.CLAIMED.value, sum(one.claimed for one in depths)
    yield State.RUNNING.value, sum(one.running for one in depths)


def _summed(found: Mapping[str, list[Gauge]], jobs: Callable[[Gauge], int]) -> Series:
    return {(name,): float(sum(map(jobs, gauges))) for name, gauges in found.items()}


def _oldest(gauges: Sequence[Gauge], now_us: float) -> float:
    """Nothing waits: for no time."""
    due = [gauge.oldest_due_at for gauge in gauges if gauge.oldest_due_at is not None]
    return max(0.0, (now_us - min(due)) / MICROSECONDS) if due else 0.0
