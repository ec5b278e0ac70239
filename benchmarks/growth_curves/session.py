"""A whole run: measures curve after curve, tells how it goes, and writes down what was found."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import apsw

from benchmarks.growth_curves import paper
from benchmarks.growth_curves.catalogue import ENGINES, Curve, Engine
from benchmarks.growth_curves.ground import Ground, prepared
from benchmarks.growth_curves.measures import MEASURES, Figures, Plan
from benchmarks.growth_curves.results import Results
from benchmarks.peer_bench import machine
from benchmarks.peer_bench.environments import ROOT
from benchmarks.peer_bench.servers import NoPlace
from penstock.program.loop import loop_name

TRIAL = "Only a trial with few jobs: these figures mean nothing."
BROKEN_OFF = "The run was broken off: these are the figures so far."


def run(
    curves: Sequence[Curve], engines: Sequence[Engine], plan: Plan, out: Path, plots: Path | None, data: Path | None
) -> int:
    """The exit code. What was found before an interrupt or an error is written down too."""
    results = Results()
    finished = False
    try:
        with prepared(engines, data, plan.size.disk_gib) as ground:
            describe(results, ground, plan)
            Session(results, ground, plan).measure(curves, engines)
        finished = True
    except NoPlace as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        if results.values:
            if not finished:
                results.about["warnings"].append(BROKEN_OFF)
            tell(results, out, plots or out)
    return 0


def describe(results: Results, ground: Ground, plan: Plan) -> None:
    now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    by_clock = {"snapshot_minutes": plan.minutes} if plan.minutes else {}
    settings = ground.server_settings()
    servers = {"PostgreSQL": settings.pop("server_version").split(" ")[0]} if settings else {}
    results.about |= {
        "warnings": [TRIAL] if plan.size.is_trial else [],
        "run": {
            "at": now,
            "revision": machine.revision(ROOT),
            "size": plan.size.name,
            "rounds": plan.rounds,
            **by_clock,
        },
        "machine": machine.describe(ground.place),
        "versions": {
            "penstock": version("penstock"),
            "Python": platform.python_version(),
            "event loop": loop_name(),
            "SQLite": apsw.sqlite_lib_version(),
            **servers,
        },
        "postgres": settings,
    }


def tell(results: Results, out: Path, plots: Path) -> None:
    for curve in results.curves:
        for verdict in paper.verdicts(results, curve):
            print(f"{curve.name}: {verdict}")
    name = f"growth-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    for path in [*paper.write(results, out, name), *paper.write_plots(results, plots)]:
        print(f"written: {path}")


class Session:
    """The measuring, with a line for everything that was measured."""

    def __init__(self, results: Results, ground: Ground, plan: Plan) -> None:
        self._results = results
        self._ground = ground
        self._plan = plan
        self._begun = time.monotonic()

    def measure(self, curves: Sequence[Curve], engines: Sequence[Engine]) -> None:
        for curve in curves:
            for engine in engines:
                self._say(f"{curve.name} on {ENGINES[engine]}: {curve.title.lower()}")
                self._measure(curve, engine)

    def _measure(self, curve: Curve, engine: Engine) -> None:
        def note(number: int, x: int, figures: Figures) -> None:
            self._results.note(curve, engine, x, figures)
            told = ", ".join(
                f"{figure.title} {figure.shown(figures[figure.name])} {figure.unit}" for figure in curve.figures
            )
            self._say(f"{curve.name} on {ENGINES[engine]}, round {number}, {x:,} {curve.x_title}: {told}")

        MEASURES[curve.name].run(self._ground, engine, self._plan, note)

    def _say(self, what: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._begun), 60)
        print(f"[{minutes}:{seconds:02}] {what}", file=sys.stderr, flush=True)
