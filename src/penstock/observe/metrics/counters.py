"""Counts for metrics what no figures have: refused outcomes, silences of lost workers, and what others tell."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from penstock.domain.figures.grid import place_of
from penstock.observe.events import EndedBatch, Observer
from penstock.observe.metrics.catalogue import BY_NAME
from penstock.observe.metrics.shown import Series, Shown, spread_out

COUNTED = ("lease_rejected_total", "webhook_disabled_total")


class Counters(Observer):
    """Of one worker, since it began. Safe in threads."""

    quiet = True

    def __init__(self, worker_id: str) -> None:
        self._worker_id = worker_id
        self._lock = threading.Lock()
        self._counts: dict[str, Series] = {name: {(): 0.0} for name in COUNTED}
        self._silences: dict[int, int] = {}

    def ended(self, batch: EndedBatch) -> None:
        if batch.worker_id == self._worker_id:
            self._add("lease_rejected_total", (), len(batch.lost))

    def lost(self, silent: Sequence[float]) -> None:
        with self._lock:
            for seconds in silent:
                place = place_of(seconds)
                self._silences[place] = self._silences.get(place, 0) + 1

    def counted(self, name: str, labels: tuple[str, ...]) -> None:
        assert BY_NAME[name].kind == "counter"
        self._add(name, labels, 1)

    def _add(self, name: str, labels: tuple[str, ...], more: int) -> None:
        with self._lock:
            series = self._counts.setdefault(name, {})
            value = series.get(labels, 0.0)
            assert isinstance(value, float)
            series[labels] = value + more

    def shown(self) -> Shown:
        with self._lock:
            counts = {name: dict(series) for name, series in self._counts.items()}
            return {**counts, "worker_downtime_seconds": {(): spread_out(self._silences)}}
