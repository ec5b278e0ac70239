"""Writes a run down: Markdown for people, with all that is needed to judge it, and JSON for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peer_bench.calibration import spread
from benchmarks.peer_bench.contestant import HISTORY_NAMES, Contestant
from benchmarks.peer_bench.results import COLUMNS, PLAIN, Column, Ratio, Results

METHOD = """\
- One by one: one producer, one job per call, each awaited before the next; after 20 that are not timed. penstock is
  measured from async code and from plain code, and compared with a peer that is called in the same way.
- Bulk: the bulk call with 1,000 jobs per call, where there is one.
- Drain: all jobs are stored first, PostgreSQL's tables vacuumed and analysed; then a worker process is started. The
  rate is that of handler starts from the first to the last, so starting up is not in it, nor is recording the last
  jobs as done. Slow peers drain fewer jobs; two processes drain twice as many.
- Pickup: from before the enqueue to the start of the handler in another process, which is idle; jobs come one by one,
  20 ms after each other, and the first 20 are dropped.
- The handler notes the time and does nothing else. The payload is JSON of about 180 bytes.
- Before each peer the machine is calibrated and penstock measured, then the peer; all peers in turn, several rounds.
  Figures are medians. A ratio is penstock ÷ peer, of two turns side by side; the median of the rounds counts, since
  the machine drifts. Of pickup times, below 1 is better for penstock.
- Every contestant runs with the fastest sane settings that were found for it. Servers are private, of this machine
  only, and alone."""


def write(results: Results, folder: Path, name: str) -> list[Path]:
    """Answers the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {".md": markdown(results), ".json": json.dumps(results.as_json(), indent=1) + "\n"}
    paths = [folder / f"{name}{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def markdown(results: Results) -> str:
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "# penstock beside other job queues\n"
    yield from (f"**{warning}**\n" for warning in results.about.get("warnings", []))
    yield from _section("Figures", _figures(results))
    yield from _section("penstock ÷ peer", _ratios(results))
    for title, reasons in (("Left out", results.left_out), ("Failed", results.failed)):
        if reasons:
            yield from _section(title, _reasons(reasons))
    yield from _section("What each gives for it", _facts(results))
    yield from _section("How it was measured", [METHOD])
    yield from _section("On what", _about(results))


def _section(title: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from lines
    yield ""


def _figures(results: Results) -> Iterator[str]:
    columns = (COLUMNS[0], PLAIN, *COLUMNS[1:])
    yield _row("", *(column.title for column in columns))
    yield _row("---", *(["--:"] * len(columns)))
    for who in results.contestants:
        yield _row(who.title, *(_figure(results, who, column) for column in columns))


def _figure(results: Results, who: Contestant, column: Column) -> str:
    """A peer that is called from plain code has its figure in that column."""
    if who.plain and column is PLAIN:
        return PLAIN.shown(results.median(who.name, "single_per_s"))
    if who.plain and column.figure == "single_per_s":
        return column.shown(None)
    return column.shown(results.median(who.name, column.figure))


def _ratios(results: Results) -> Iterator[str]:
    titles = {column.figure: column.title.removesuffix(" /s").removesuffix(" ms") for column in COLUMNS}
    yield _row("peer", "figure", "penstock with", "side by side", "lowest–highest", "of all medians")
    yield _row("---", "---", "---", "--:", "--:", "--:")
    for peer in results.peers:
        for ratio in results.ratios(peer):
            yield _row(peer.title, titles[ratio.figure], HISTORY_NAMES[ratio.history], *_numbers(ratio))


def _numbers(ratio: Ratio) -> tuple[str, str, str]:
    return f"{ratio.beside:.2f}", f"{ratio.lowest:.2f}–{ratio.highest:.2f}", f"{ratio.of_medians:.2f}"


def _reasons(reasons: dict[str, str]) -> Iterator[str]:
    for name, reason in reasons.items():
        first, *rest = reason.splitlines()
        yield f"- **{name}**: {first}"
        if rest:
            yield "\n".join(["", "  ```text", *(f"  {line}" for line in rest), "  ```", ""])


def _facts(results: Results) -> Iterator[str]:
    yield _row("", "runtime", "durable", "kept of a done job", "batches", "concurrency", "handler", "jobs drained")
    yield _row(*["---"] * 7, "--:")
    for who in results.contestants:
        facts = who.facts
        told = (who.runtime, facts.durable, facts.keeps, facts.batches, facts.concurrency, facts.handler)
        yield _row(who.title, *told, f"{results.drained.get(who.name, 0):,}")


def _about(results: Results) -> Iterator[str]:
    for topic in ("run", "machine", "versions", "postgres"):
        for name, value in results.about.get(topic, {}).items():
            yield f"- {name.replace('_', ' ')}: {value}"
    yield from _calibrations(results)


def _calibrations(results: Results) -> Iterator[str]:
    named = (
        ("Python loop, million steps/s", [one.python_msteps_per_s for one in results.calibrations]),
        ("bare psycopg, claim + complete in batches of 100, jobs/s", [one.cycle_per_s for one in results.calibrations]),
    )
    for title, values in named:
        if values:
            yield (
                f"- calibration, {title}: {min(values):,.1f} to {max(values):,.1f}, median "
                f"{statistics.median(values):,.1f} of {len(values)} (highest ÷ lowest {spread(values):.2f})"
            )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
