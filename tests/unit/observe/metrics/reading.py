"""Reads a scrape as a test looks at it: by the name and the labels of each sample."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from penstock.observe.metrics.exposition import expose
from penstock.observe.metrics.shown import Shown

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """By name and labels. Nothing may be there twice."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, key
            found[key] = sample.value
    return found


def value(found: Samples, name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def scraped(shown: Shown, prefix: str = "penstock_") -> Samples:
    return samples(expose(shown, prefix).decode())
