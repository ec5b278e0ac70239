"""The table on the terminal, and what is written down."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from benchmarks.peer_bench import paper, table
from benchmarks.peer_bench.calibration import Calibration
from benchmarks.peer_bench.results import Results, Run
from tests.benchmarks.samples import OURS, drained, peer


def shown(results: Results) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(table.made(results))
    return out.getvalue()


def row(markdown: str, *beginning: str) -> list[str]:
    """The cells of the one row that begins with these."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in markdown.splitlines() if line[:1] == "|"
    ]
    [found] = [cells for cells in rows if tuple(cells[: len(beginning)]) == beginning]
    return found


def test_the_table_has_figures_and_ratios_with_and_without_history() -> None:
    results = drained((40_000, 20_000))
    results.runs.append(Run(1, "penstock-postgres-no-history", "peer", {"drain_per_s": 50_000}))
    text = shown(results)
    assert "40,000" in text
    assert "2.00 × · 2.50 ×" in text
    assert all(one.title in text for one in results.contestants)


def test_the_table_shows_penstock_from_plain_code_too() -> None:
    figures = {"single_per_s": 1500.0, "single_plain_per_s": 2500.0}
    assert "plain 2,500" in shown(Results(OURS, [Run(1, "penstock-sqlite", None, figures)]))


def test_markdown_has_figures_and_both_ratios() -> None:
    text = paper.markdown(drained((10, 10), (30, 10), (20, 10)))
    assert row(text, "peer 1.0", "–") == ["peer 1.0", "–", "–", "–", "10", "–", "–", "–"]
    assert row(text, "peer 1.0", "drain") == ["peer 1.0", "drain", "default history", "2.00", "1.00–3.00", "2.00"]


def test_a_peer_that_is_called_from_plain_code_is_in_that_column() -> None:
    results = Results([peer(plain=True)], [Run(1, "peer", None, {"single_per_s": 77.0})])
    assert row(paper.markdown(results), "peer 1.0", "–")[:3] == ["peer 1.0", "–", "77"]


def test_markdown_says_what_was_left_out_and_what_failed_with_its_last_lines() -> None:
    results = drained((1, 1))
    results.left_out["bullmq"] = "Node is not installed: install it"
    results.failed["rq"] = "rq one 10: exit code 1\nTraceback\nValueError"
    text = paper.markdown(results)
    assert "- **bullmq**: Node is not installed: install it" in text
    assert "- **rq**: rq one 10: exit code 1\n\n  ```text\n  Traceback\n  ValueError\n  ```" in text


def test_markdown_without_anything_left_out_has_no_such_section() -> None:
    text = paper.markdown(drained((1, 1)))
    assert "Left out" not in text
    assert "Failed" not in text


def test_markdown_states_fairness_the_machine_and_the_drift() -> None:
    results = drained((1, 1))
    results.about = {"warnings": ["Only a trial."], "machine": {"disk_flush_ms": 0.12}}
    results.drained = {"peer": 1500}
    results.calibrations = [Calibration(10.0, 20_000.0), Calibration(30.0, 25_000.0)]
    text = paper.markdown(results)
    assert "**Only a trial.**" in text
    assert "- disk flush ms: 0.12" in text
    assert "10.0 to 30.0, median 20.0 of 2 (highest ÷ lowest 3.00)" in text
    assert r"| peer 1.0 | Python 3.11.0 | durable\| | keeps | batches | concurrency | handler | 1,500 |" in text


def test_both_files_are_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    results = drained((20, 10))
    written = paper.write(results, tmp_path / "new" / "folder", "peers-1")
    assert [path.name for path in written] == ["peers-1.md", "peers-1.json"]
    assert written[0].read_text(encoding="utf-8") == paper.markdown(results)
    assert json.loads(written[1].read_text(encoding="utf-8")) == results.as_json()
