"""Results of growth curves that are made up."""

from __future__ import annotations

from benchmarks.growth_curves.catalogue import CURVES, Engine
from benchmarks.growth_curves.results import Results

WAITING, HISTORY, SNAPSHOT, TYPES = (CURVES[name] for name in ("waiting", "history", "snapshot", "types"))
ABOUT = {
    "warnings": [],
    "run": {"at": "2026-01-02 03:04 UTC", "size": "small"},
    "machine": {"cores": 2, "file_system": "ext4", "disk_flush_ms": 0.12},
    "versions": {"penstock": "0.1.0", "SQLite": "3.54.1", "PostgreSQL": "18.4"},
}
BOTH: tuple[Engine, ...] = ("sqlite", "postgres")


def drained(*rates: tuple[int, list[float]], curve: str = "history", engine: Engine = "sqlite") -> Results:
    """(x, the rates of its rounds) …"""
    results = Results(about=dict(ABOUT))
    for x, values in rates:
        for value in values:
            results.note(CURVES[curve], engine, x, {"drain_per_s": value})
    return results


def every_curve() -> Results:
    """As a full run makes them, with figures that are as wide as can be."""
    results = Results(about=dict(ABOUT))
    for engine, factor in zip(BOTH, (1.0, 0.7), strict=True):
        for number in range(3):
            for power in range(3, 8):
                slower = factor * (1 + power / 10 + number / 50)
                claims = dict.fromkeys(("claim_p50_ms", "claim_p99_ms", "first_claim_ms"), 1.234 * slower)
                results.note(WAITING, engine, 10**power, {**claims, "drain_per_s": 60_000 / slower})
            for x in (0, 10_000, 100_000, 1_000_000, 10_000_000):
                results.note(HISTORY, engine, x, {"drain_per_s": 123_456.0 + number})
            for point in range(21):
                results.note(SNAPSHOT, engine, point * 10_000, {"drain_per_s": 50_000.0 - point, "disk_mib": 40.0})
            for name, xs in (("tenants", (1, 10, 100, 1000, 10_000)), ("types", (1, 10, 100, 1000))):
                for x in xs:
                    results.note(CURVES[name], engine, x, {"drain_per_s": 50_000.0 / (1 + x / 500)})
            for x in (1, 2, 3, 4):
                results.note(CURVES["processes"], engine, x, {"drain_per_s": 50_000.0 * x})
    return results
