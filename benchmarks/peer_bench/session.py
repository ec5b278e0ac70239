"""A whole run: installs the peers, starts the servers, measures everything in turn, and tells what was found."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import apsw
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from benchmarks.peer_bench import machine, paper, table
from benchmarks.peer_bench.calibration import calibrate
from benchmarks.peer_bench.catalogue import Peer
from benchmarks.peer_bench.contestant import Contestant, peer_contestant, penstock
from benchmarks.peer_bench.environments import ROOT, CannotInstall, cache_folder, install, installed_penstock
from benchmarks.peer_bench.measure import Figures, Measure, Sizes
from benchmarks.peer_bench.plan import Group, Step, one_round
from benchmarks.peer_bench.results import COLUMNS, PLAIN, Results, Run
from benchmarks.peer_bench.servers import NoPlace, Servers, real_disk, redis_program
from benchmarks.peer_bench.stage import Failed, Stage
from penstock.cli.output.tables import console

CALIBRATION_JOBS = 20_000
NO_REDIS = "redis-server is not installed: apt install redis-server, brew install redis or the like, and run again"


def run(peers: Sequence[Peer], jobs: int, rounds: int, out: Path, data: Path | None) -> int:
    """The exit code: 0 also when peers were left out or failed, which is told."""
    say = console(stderr=True)
    try:
        place = real_disk([data] if data else usual_places())
    except NoPlace as error:
        say.print(f"error: {error}", style="red")
        return 1
    results = Results(penstock(installed_penstock()))
    results.contestants += installed(peers, results, say)
    sizes = Sizes(jobs)
    finished = False
    try:
        with Servers(place, any(one.engine == "redis" for one in results.contestants)) as servers:
            describe(results, servers, place, sizes, rounds)
            Session(results, servers, sizes, say).measure(rounds)
        finished = True
    finally:
        if results.runs:
            if not finished:
                results.about["warnings"].append("The run was broken off: these are the figures so far.")
            tell(results, out)
    return 0


def usual_places() -> list[Path]:
    return [cache_folder() / "data", Path(tempfile.gettempdir()), Path("/var/tmp")]


def installed(peers: Sequence[Peer], results: Results, say: Console) -> list[Contestant]:
    """Those that could be installed; of the others the reason is told at once, and again in what is written."""
    found = []
    for peer in peers:
        say.print(f"Installing {peer.name}", style="dim")
        try:
            if peer.engine == "redis" and redis_program() is None:
                raise CannotInstall(NO_REDIS)
            found.append(peer_contestant(peer, install(peer)))
        except CannotInstall as error:
            results.left_out[peer.name] = str(error)
            say.print(f"LEFT OUT {peer.name}: {error}", style="yellow", soft_wrap=True)
    return found


def describe(results: Results, servers: Servers, place: Path, sizes: Sizes, rounds: int) -> None:
    results.drained |= {who.name: sizes.drained(who) for who in results.contestants}
    now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    libraries = {"SQLite of penstock": apsw.sqlite_lib_version(), "SQLite of Python": sqlite3.sqlite_version}
    results.about |= {
        "warnings": ["Only a trial with few jobs: these figures mean nothing."] if sizes.is_small else [],
        "run": {"at": now, "revision": machine.revision(ROOT), "jobs": sizes.jobs, "rounds": rounds},
        "machine": machine.describe(place),
        "versions": servers.versions | libraries,
        "postgres": servers.settings,
    }


def tell(results: Results, out: Path) -> None:
    shown = console()
    shown.print(table.made(results))
    for title, reasons in (("left out", results.left_out), ("FAILED", results.failed)):
        for name, reason in reasons.items():
            shown.print(f"{title}: {name}: {reason}", soft_wrap=True)
    for path in paper.write(results, out, f"peers-{datetime.now().astimezone():%Y%m%d-%H%M%S}"):
        shown.print(f"written: {path}", soft_wrap=True)


class Session:
    """The measuring, with a bar and a line for every turn."""

    def __init__(self, results: Results, servers: Servers, sizes: Sizes, say: Console) -> None:
        self._results = results
        self._servers = servers
        self._sizes = sizes
        self._say = say
        self._begun = time.monotonic()
        self._head = ""
        doing = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
        columns = (doing, BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=say, disable=not say.is_terminal, transient=True)
        self._task = self._bar.add_task("")
        self._measure = Measure(servers, Stage(servers.folder, servers.addresses), sizes, self._doing)

    def measure(self, rounds: int) -> None:
        """A peer that failed once is not tried again: it may take its whole time each round."""
        ours = [one for one in self._results.contestants if one not in self._results.peers]
        with self._bar:
            for number in range(1, rounds + 1):
                peers = [peer for peer in self._results.peers if peer.name not in self._results.failed]
                groups = one_round(number, ours, peers)
                steps = sum(len(group.steps) for group in groups)
                self._bar.update(self._task, total=steps * rounds, completed=steps * (number - 1))
                self._head = f"round {number}/{rounds}"
                for group in groups:
                    self._run(group)

    def _run(self, group: Group) -> None:
        self._doing("calibration")
        self._results.calibrations.append(calibrate(self._servers, min(CALIBRATION_JOBS, self._sizes.jobs)))
        for step in group.steps:
            self._turn(step)
            self._bar.advance(self._task)

    def _turn(self, step: Step) -> None:
        figures: Figures = {}
        try:
            self._measure.run(step.who, step.parts, figures)
        except Failed as error:
            self._results.failed[step.who.name] = str(error)
            self._say.print(f"{self._when()} FAILED {error}", style="red", soft_wrap=True)
        self._results.runs.append(Run(step.round, step.who.name, step.beside, figures))
        told = [f"{c.title} {c.shown(figures[c.figure])}" for c in (*COLUMNS, PLAIN) if c.figure in figures]
        self._say.print(f"{self._when()} {step.who.title}: {', '.join(told)}", soft_wrap=True)

    def _doing(self, what: str) -> None:
        self._bar.update(self._task, description=f"{self._head} {what}")

    def _when(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._begun), 60)
        return f"[{minutes}:{seconds:02}] {self._head}"
