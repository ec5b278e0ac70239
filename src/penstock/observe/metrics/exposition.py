"""Writes metrics as Prometheus reads them. prometheus-client does no more than this, and is loaded by the first scrape:
it escapes, orders and formats, and counts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric as Family
from prometheus_client.registry import Collector

from penstock.observe.metrics.catalogue import METRICS, Metric
from penstock.observe.metrics.shown import Histogram, Series, Shown, Value

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def expose(shown: Shown, prefix: str) -> bytes:
    """The text of a scrape, in the order of the catalogue."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Shown(shown, prefix))
    return generate_latest(registry)


class _Shown(Collector):
    def __init__(self, shown: Shown, prefix: str) -> None:
        self._shown = shown
        self._prefix = prefix

    def describe(self) -> Iterable[Family]:
        """Nothing: it is there for one scrape, and its names clash with nobody's."""
        return ()

    def collect(self) -> Iterator[Family]:
        for metric in METRICS:
            if metric.name in self._shown:
                yield _family(metric, self._shown[metric.name], self._prefix)


def _family(metric: Metric, series: Series, prefix: str) -> Family:
    name, text = prefix + metric.name, metric.help
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(name, text, labels=metric.labels)
        for labels, value in series.items():
            assert isinstance(value, Histogram)
            bounds = [*zip(map(_bound, metric.buckets), value.up_to, strict=True), ("+Inf", value.count)]
            histogram.add_metric(labels, bounds, value.sum)
        return histogram
    family = (CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily)(name, text, labels=metric.labels)
    for labels, value in series.items():
        family.add_metric(labels, _number(value))
    return family


def _bound(seconds: float) -> str:
    return f"{seconds:g}"


def _number(value: Value) -> float:
    assert not isinstance(value, Histogram)
    return value
