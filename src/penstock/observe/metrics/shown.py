"""The values of metrics at a moment: how they are sent from one process to another, and how several become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

import msgspec

from penstock.domain.figures import grid
from penstock.observe.metrics.catalogue import BY_NAME, Metric, Together


class Histogram(msgspec.Struct, frozen=True, array_like=True):
    """How many there are, how many up to each bound of the metric, and what they come to."""

    count: int
    up_to: tuple[int, ...]
    sum: float


Labels = tuple[str, ...]
Value = float | Histogram
Series = dict[Labels, Value]
"""A value for each combination of the labels, in the order in which the metric names them."""
Shown = Mapping[str, Series]
"""By the name of the metric."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, list[tuple[Labels, Value]]]).decode
_GAUGES: dict[Together, Callable[[Sequence[float]], float]] = {
    "sum": fsum, "max": max, "mean": lambda values: fsum(values) / len(values),
}  # fmt: skip


def spread_out(spread: grid.Spread, bounds: Sequence[float] = grid.BUCKETS, total: float | None = None) -> Histogram:
    """What is known of durations. Their sum, where nobody has added it up, from the middle of each place."""
    if total is None:
        total = fsum(count * grid.middle(place) for place, count in spread.items())
    return Histogram(sum(spread.values()), tuple(grid.counts_up_to(spread, bounds)), total)


def pack(shown: Shown) -> bytes:
    return _encode({name: list(series.items()) for name, series in shown.items()})


def unpack(packed: bytes) -> Shown:
    return {name: dict(series) for name, series in _decode(packed).items()}


def counts(shown: Shown) -> Shown:
    """What never falls, and stays when the process is gone."""
    return {name: series for name, series in shown.items() if BY_NAME[name].kind != "gauge"}


def together(parts: Iterable[Shown]) -> Shown:
    """Several processes as one."""
    gathered: dict[str, dict[Labels, list[Value]]] = {}
    for part in parts:
        for name, series in part.items():
            found = gathered.setdefault(name, {})
            for labels, value in series.items():
                found.setdefault(labels, []).append(value)
    return {
        name: {labels: _one(BY_NAME[name], values) for labels, values in series.items()}
        for name, series in gathered.items()
    }


def _one(metric: Metric, values: Sequence[Value]) -> Value:
    histograms = [value for value in values if isinstance(value, Histogram)]
    numbers = [value for value in values if not isinstance(value, Histogram)]
    if histograms:
        up_to = tuple(sum(column) for column in zip(*(one.up_to for one in histograms), strict=True))
        return Histogram(sum(one.count for one in histograms), up_to, fsum(one.sum for one in histograms))
    return fsum(numbers) if metric.kind == "counter" else _GAUGES[metric.together](numbers)
