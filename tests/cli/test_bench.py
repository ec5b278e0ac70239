"""`penstock bench`, made short: what it reports, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.bench import parts, place
from tests.cli.conftest import Call

RATES = (
    "enqueue_single_per_s",
    "enqueue_single_async_per_s",
    "enqueue_bulk_per_s",
    "drain_per_s",
    "drain_threads_per_s",
    "drain_processes_per_s",
    "pickup_ms_p50",
    "pickup_ms_p99",
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """One round of a few jobs, in a folder that counts as a real disk wherever the tests run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_STORE", raising=False)
    monkeypatch.setattr(parts, "ROUNDS", 1)
    monkeypatch.setattr(parts, "PROBES", 3)
    monkeypatch.setattr(parts, "PROBE_GAP_SECONDS", 0.0)
    monkeypatch.setattr(parts, "BULK", 300)
    monkeypatch.setattr(place, "file_system", lambda folder: "ext4")
    return tmp_path


def test_it_reports_every_figure_beside_the_bare_driver_and_the_settings(call: Call, short: Path) -> None:
    outcome = call("bench", "--jobs", "200", "--raw", "--json")
    assert outcome.code == 0
    figures = json.loads(outcome.out)
    for name in RATES:
        assert figures[name] > 0
        assert figures["raw"][name] > 0
    assert figures["enqueue_concurrent_per_s"] > 0
    assert figures["settings"]["engine"] == "sqlite"
    assert "synchronous=FULL" in figures["settings"]["durability"]
    assert list(short.iterdir()) == []


def test_a_table_for_people_with_two_processes_and_no_history(call: Call, short: Path) -> None:
    outcome = call("bench", "--jobs", "100", "--processes", "2", "--history", "none", "--store", "sqlite:///mine.db")
    assert outcome.code == 0
    assert "drain, async handlers" in outcome.out
    assert "history: none" in outcome.out
    assert "processes: 2" in outcome.out
    assert list(short.iterdir()) == []


def test_a_store_that_exists_is_never_measured(call: Call, short: Path) -> None:
    (short / "jobs.db").touch()
    outcome = call("bench", "--store", "sqlite:///jobs.db")
    assert outcome.code == 2
    assert f"{short}/jobs.db exists: a benchmark needs a store of its own" in outcome.err
    assert (short / "jobs.db").exists()


def test_memory_is_not_a_disk(call: Call, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "file_system", lambda folder: "tmpfs")
    outcome = call("bench")
    assert outcome.code == 2
    assert "is on tmpfs, in memory" in outcome.err


@pytest.mark.parametrize("words", [["--jobs", "0"], ["--processes", "0"], ["--history", "some"]])
def test_wrong_words_are_usage_errors(call: Call, short: Path, words: list[str]) -> None:
    assert call("bench", *words).code == 2
