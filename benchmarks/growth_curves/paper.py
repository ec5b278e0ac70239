"""Writes a run down: a JSON file for programs, Markdown tables for people, and the plots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.growth_curves.catalogue import ENGINES, Curve, Engine, Figure
from benchmarks.growth_curves.plot import drawn
from benchmarks.growth_curves.results import NotOurs, Results

METHOD = """\
- A drain: the jobs are stored first, PostgreSQL's tables vacuumed and analysed; then worker processes are started. The
  rate is that of handler starts from the first to the last, so starting up is not in it. Handlers do nothing. The
  payload is JSON of about 180 bytes; history is the default one; a worker has 50 slots.
- waiting: claims of 10 jobs are timed through the store, each followed by its completion and by 10 new jobs. Then a
  worker drains as many jobs as always while the given number waits behind them, and is stopped.
- history: the finished jobs are three days old. What a drain finishes stays beside them.
- snapshot: one worker stays for the whole time, while another connection holds a REPEATABLE READ snapshot (PostgreSQL)
  or a read transaction (SQLite). The jobs are stored while handlers wait; the rate is from when they may go until
  the last one has begun. By the clock (MINUTES=) there is one round, and 5,000 jobs come and go per second on average.
- tenants, types: the same number of jobs, in turn over so many tenants or types.
- processes: so many worker processes at once, each with as many jobs as one alone.
- Each x has a store of its own, and all of them are measured in turn, round by round, since machines drift. Figures
  are medians of the rounds, and ratios are those of medians. In plots a thin bar is from the lowest to the highest
  round. Compare ratios of one run only."""


def read(path: Path) -> Results:
    """The results of a JSON file that an earlier run wrote."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotOurs(f"it cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise NotOurs(f"it is not JSON ({error})") from None
    return Results.from_json(document)


def write(results: Results, folder: Path, name: str) -> list[Path]:
    """Answers the files that were written."""
    return _written(folder, {f"{name}.json": json.dumps(results.as_json(), indent=1) + "\n",
                             f"{name}.md": markdown(results)})  # fmt: skip


def write_plots(results: Results, folder: Path) -> list[Path]:
    return _written(folder, {f"growth-{curve.name}.svg": drawn(results, curve) for curve in results.curves})


def _written(folder: Path, texts: dict[str, str]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in texts]


def markdown(results: Results) -> str:
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "# How the cost per job grows\n"
    yield from (f"**{warning}**\n" for warning in results.about.get("warnings", []))
    for curve in results.curves:
        yield f"## {curve.name}: {curve.title.lower()}\n"
        yield from _table(results, curve)
        yield ""
        yield from (f"{verdict}\n" for verdict in verdicts(results, curve))
    yield "## How it was measured\n"
    yield f"{METHOD}\n"
    yield "## On what\n"
    for topic in ("run", "machine", "versions", "postgres"):
        for name, value in results.about.get(topic, {}).items():
            yield f"- {name.replace('_', ' ')}: {value}"
    yield ""


def _table(results: Results, curve: Curve) -> Iterator[str]:
    """For every figure of an engine its median, then as a multiple of the first one, then from lowest to highest."""
    columns = [(engine, figure) for engine in results.engines(curve) for figure in curve.figures]
    cells = {(engine, figure.name): _cells(results, curve, engine, figure) for engine, figure in columns}
    kept = [(engine, figure) for engine, figure in columns if cells[engine, figure.name]]
    yield _row(curve.x_title, *(f"{ENGINES[engine]}: {figure.title} {figure.unit}" for engine, figure in kept))
    yield _row(*["--:"] * (1 + len(kept)))
    for x in sorted({x for column in cells.values() for x in column}):
        yield _row(f"{x:,}", *(cells[engine, figure.name].get(x, "–") for engine, figure in kept))


def _cells(results: Results, curve: Curve, engine: Engine, figure: Figure) -> dict[int, str]:
    return {
        point.x: f"{figure.shown(point.median)} ({point.ratio:.2f} ×, {point.lowest:.2f}–{point.highest:.2f})"
        for point in results.points(curve, engine, figure.name)
    }


def verdicts(results: Results, curve: Curve) -> Iterator[str]:
    """A sentence for each engine with a target."""
    for verdict in results.verdicts(curve):
        target, figure = verdict.target, curve.figure(verdict.target.figure)
        short = "" if verdict.at == target.at else f" (the target is for {target.at:,})"
        so_far = " so far" if short and verdict.met else ""
        yield (
            f"{ENGINES[verdict.engine]}, {figure.title}: {verdict.ratio:.2f} × at {verdict.at:,}{short} against "
            f"{target.against:,}; target {'≥' if figure.higher_is_better else '≤'} {target.limit:g}: "
            f"{'met' if verdict.met else 'MISSED'}{so_far}"
        )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
