"""The curves that there are: what each measures, over what, and which target it has. Standard library alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Engine = Literal["sqlite", "postgres"]
ENGINES: dict[Engine, str] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


class UnknownName(Exception):
    """A curve or an engine that does not exist; the message lists those that do."""


@dataclass(frozen=True)
class Figure:
    """Something that is measured at every point. Only some are drawn; all are in the tables."""

    name: str
    title: str
    unit: Literal["jobs/s", "ms", "MiB"]
    drawn: bool = False

    @property
    def higher_is_better(self) -> bool:
        return self.unit == "jobs/s"

    def shown(self, value: float) -> str:
        return f"{value:,.0f}" if self.unit == "jobs/s" or value >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class Target:
    """What the figure at `at` must be, as a multiple of that at `against`: at least or at most, as is better."""

    figure: str
    limit: float
    at: int
    against: int


@dataclass(frozen=True)
class Curve:
    """`title` says what is measured, `x_title` what grows."""

    name: str
    title: str
    x_title: str
    figures: tuple[Figure, ...]
    target: Target | None = None

    def figure(self, name: str) -> Figure:
        return next(figure for figure in self.figures if figure.name == name)

    @property
    def drawn(self) -> tuple[Figure, ...]:
        return tuple(figure for figure in self.figures if figure.drawn)


DRAIN = Figure("drain_per_s", "drain rate", "jobs/s", drawn=True)
CLAIM_P99 = Figure("claim_p99_ms", "claim of 10 jobs, p99", "ms", drawn=True)
CLAIMS = (
    CLAIM_P99,
    Figure("claim_p50_ms", "claim of 10 jobs, p50", "ms"),
    Figure("first_claim_ms", "first claim of a new worker", "ms"),
)
SIZE = Figure("disk_mib", "size of the store", "MiB")

CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in (
        Curve(
            "waiting",
            "Claiming and draining while more and more jobs wait",
            "jobs that wait behind those drained",
            (*CLAIMS, DRAIN),
            Target("claim_p99_ms", 1.5, 10_000_000, 10_000),
        ),
        Curve(
            "history",
            "Draining beside more and more finished jobs",
            "finished jobs in the store",
            (DRAIN,),
            Target("drain_per_s", 0.9, 10_000_000, 0),
        ),
        Curve(
            "snapshot",
            "Draining while another connection holds an old snapshot",
            "jobs that came and went since the snapshot was taken",
            (DRAIN, SIZE),
            Target("drain_per_s", 0.8, 200_000, 0),
        ),
        Curve("tenants", "Draining jobs of more and more tenants", "tenants", (DRAIN,)),
        Curve("types", "Draining jobs of more and more types", "job types", (DRAIN,)),
        Curve("processes", "Draining with more and more worker processes", "worker processes", (DRAIN,)),
    )
}


def chosen_curves(names: str) -> list[Curve]:
    """Those of a list with commas, in the order of the catalogue; all of them if it is empty."""
    wanted = _known(names, CURVES, "curve")
    return [curve for curve in CURVES.values() if curve.name in wanted or not wanted]


def chosen_engines(names: str) -> list[Engine]:
    wanted = _known(names, ENGINES, "engine")
    return [engine for engine in ENGINES if engine in wanted or not wanted]


def _known(names: str, known: Iterable[str], kind: str) -> list[str]:
    wanted, all_names = [name.strip() for name in names.split(",") if name.strip()], list(known)
    for name in wanted:
        if name not in all_names:
            near = difflib.get_close_matches(name, all_names, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise UnknownName(f"there is no {kind} {name!r}{meant}; choose from: {', '.join(all_names)}")
    return wanted
