"""What was found: the figures of every turn, their medians, and how penstock compares with each peer."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.peer_bench.calibration import Calibration
from benchmarks.peer_bench.contestant import Contestant, History, our_name

Figures = dict[str, float]


@dataclass(frozen=True)
class Column:
    """A figure as tables show it."""

    figure: str
    title: str
    decimals: int = 0

    def shown(self, value: float | None) -> str:
        return "–" if value is None else f"{value:,.{self.decimals}f}"


COLUMNS = (
    Column("single_per_s", "one by one /s"),
    Column("bulk_per_s", "bulk /s"),
    Column("drain_per_s", "drain /s"),
    Column("drain2_per_s", "drain, 2 processes /s"),
    Column("pickup_p50_ms", "pickup p50 ms", 2),
    Column("pickup_p99_ms", "pickup p99 ms", 2),
)
PLAIN = Column("single_plain_per_s", "one by one, plain code /s")
WITHOUT_HISTORY = ("drain_per_s", "drain2_per_s")


@dataclass(frozen=True)
class Run:
    """One turn of a contestant."""

    round: int
    name: str
    beside: str | None
    figures: Figures


@dataclass(frozen=True)
class Ratio:
    """penstock by peer: of the medians of all turns, and of turns side by side (median, lowest, highest)."""

    figure: str
    history: History
    of_medians: float
    beside: float
    lowest: float
    highest: float


@dataclass
class Results:
    """All of a run, as it grows."""

    contestants: list[Contestant]
    runs: list[Run] = field(default_factory=list)
    calibrations: list[Calibration] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    drained: dict[str, int] = field(default_factory=dict)
    """How many jobs each drains with one process."""
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def peers(self) -> list[Contestant]:
        return [one for one in self.contestants if not one.name.startswith("penstock-")]

    def median(self, name: str, figure: str) -> float | None:
        values = [run.figures[figure] for run in self.runs if run.name == name and figure in run.figures]
        return statistics.median(values) if values else None

    def ratio(self, peer: Contestant, figure: str, history: History = "default") -> Ratio | None:
        """None if one of both has no such figure."""
        ours = our_name(peer.engine, history)
        our_figure = PLAIN.figure if peer.plain and figure == "single_per_s" else figure
        pairs = self._pairs(peer.name, figure, ours, our_figure)
        mine, theirs = self.median(ours, our_figure), self.median(peer.name, figure)
        if not pairs or mine is None or not theirs:
            return None
        return Ratio(figure, history, mine / theirs, statistics.median(pairs), min(pairs), max(pairs))

    def ratios(self, peer: Contestant) -> list[Ratio]:
        """In the order of the columns; drains also without history."""
        histories: Sequence[History] = ("default", "none")
        found = [
            self.ratio(peer, column.figure, history)
            for column in COLUMNS
            for history in histories
            if history == "default" or column.figure in WITHOUT_HISTORY
        ]
        return [ratio for ratio in found if ratio]

    def _pairs(self, peer: str, figure: str, ours: str, our_figure: str) -> list[float]:
        """penstock by peer in every round that has both, of the turns made for each other."""
        mine = self._by_round((run, our_figure) for run in self.runs if run.name == ours and run.beside == peer)
        theirs = self._by_round((run, figure) for run in self.runs if run.name == peer)
        return [mine[number] / theirs[number] for number in mine if theirs.get(number)]

    @staticmethod
    def _by_round(runs: Iterable[tuple[Run, str]]) -> dict[int, float]:
        return {run.round: run.figures[figure] for run, figure in runs if figure in run.figures}

    def as_json(self) -> dict[str, Any]:
        figures = [column.figure for column in (*COLUMNS, PLAIN)]
        return {
            "about": self.about,
            "contestants": {
                one.name: {
                    "title": one.title,
                    "runtime": one.runtime,
                    "drained": self.drained.get(one.name),
                    **asdict(one.facts),
                }
                for one in self.contestants
            },
            "medians": {
                one.name: {name: value for name in figures if (value := self.median(one.name, name)) is not None}
                for one in self.contestants
            },
            "ratios": {peer.name: [asdict(ratio) for ratio in self.ratios(peer)] for peer in self.peers},
            "left_out": self.left_out,
            "failed": self.failed,
            "calibrations": [asdict(one) for one in self.calibrations],
            "runs": [asdict(run) for run in self.runs],
        }
