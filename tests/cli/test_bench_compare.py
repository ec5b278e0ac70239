"""`penstock bench --compare`: two files side by side, what counts as a difference, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

SETTINGS = {"penstock": "0.1.0", "engine": "sqlite", "jobs": 10_000, "disk_flush_ms": 0.12, "schema": "one"}
Rounds = list[tuple[float, float]]


def document(drain: Rounds, pickup: float = 2.0, **settings: Any) -> dict[str, Any]:
    """A run whose drain had these figures in its rounds, ours and the bare driver's; the second is the median."""
    ours, raw = drain[1]
    return {
        "drain_per_s": ours, "pickup_ms_p50": pickup, "raw": {"drain_per_s": raw},
        "rounds": [{"drain_per_s": a, "pickup_ms_p50": pickup, "raw": {"drain_per_s": b}} for a, b in drain],
        "settings": {**SETTINGS, **settings}, "notes": [],
    }  # fmt: skip


BEFORE = document([(900, 2000), (1000, 2000), (1100, 2000)])


@pytest.fixture
def compare(call: Call, tmp_path: Path) -> Any:
    """The comparison of two documents, as JSON or as text."""

    def compare(before: Any, after: Any, *words: str) -> Any:
        for name, content in (("before.json", before), ("after.json", after)):
            (tmp_path / name).write_text(json.dumps(content))
        outcome = call("bench", "--compare", "before.json", "after.json", *words)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.json if words else outcome.out

    return compare


def row(text: str, title: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(title)]
    return line.removeprefix(title).split()


def test_one_table_with_both_ratios_and_a_mark(compare: Any) -> None:
    after = document([(1900, 2200), (2000, 2000), (2100, 2000)], pickup=3.0, penstock="0.2.0")
    text = compare(BEFORE, after)
    assert row(text, "drain, async handlers") == ["1,000", "2,000", "2.00", "2.00", "faster"]
    assert row(text, "pickup by an idle process, p50") == ["2.00", "ms", "3.00", "ms", "1.50", "slower"]
    assert "before: before.json, penstock 0.1.0" in text
    assert "after: after.json, penstock 0.2.0" in text
    assert "Machines drift, so this is what counts" in text
    assert "warning" not in text


def test_a_machine_that_drifted_is_no_difference(compare: Any) -> None:
    """All is twice as fast, the bare driver too."""
    after = document([(1800, 4000), (2000, 4000), (2200, 4000)])
    found = compare(BEFORE, after, "--json")
    drain = {"before": 1000, "after": 2000, "ratio": 2.0, "beside_raw": 1.0, "verdict": "same"}
    assert found["figures"]["drain_per_s"] == drain
    assert found["raw_drift"] == [2.0, 2.0]
    assert "The bare driver itself is at 2.00 to 2.00 of before." in compare(BEFORE, after)


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ((1100, 1200, 1300), "same"),
        ((1200, 1250, 1300), "faster"),
        ((750, 800, 850), "slower"),
        ((500, 800, 1100), "same"),
    ],
)
def test_a_difference_is_one_beyond_the_spread_of_either_run(
    compare: Any, rates: tuple[float, ...], verdict: str
) -> None:
    """The rounds before differ by 1.22 among themselves."""
    after = document([(rate, 2000) for rate in rates])
    assert compare(BEFORE, after, "--json")["figures"]["drain_per_s"]["verdict"] == verdict


def test_without_the_bare_driver_the_rates_are_compared_and_the_fix_is_named(compare: Any) -> None:
    without = {name: value for name, value in BEFORE.items() if name != "raw"}
    after = document([(1900, 2000), (2000, 2000), (2100, 2000)])
    found = compare(without, after, "--json")
    assert found["figures"]["drain_per_s"] == {
        "before": 1000, "after": 2000, "ratio": 2.0, "beside_raw": None, "verdict": "faster",
    }  # fmt: skip
    assert found["raw_drift"] is None
    assert "measure both with --raw" in compare(without, after)


def test_a_file_without_rounds_is_compared_without_marks(compare: Any) -> None:
    old = {name: value for name, value in BEFORE.items() if name != "rounds"}
    text = compare(old, BEFORE)
    assert row(text, "drain, async handlers") == ["1,000", "1,000", "1.00", "1.00", "?"]
    assert "?: before.json holds fewer than 3 rounds" in text
    assert "?: after.json" not in text
    assert "measure it again with this version and --rounds 3 or more" in text


def test_settings_that_differ_are_listed_and_those_that_must_are_not(compare: Any) -> None:
    other = {
        **BEFORE,
        "settings": {**SETTINGS, "engine": "postgresql", "jobs": 5, "disk_flush_ms": 0.15, "schema": "x"},
    }
    text = compare(BEFORE, other)
    assert "warning: the runs differ in more than penstock" in text
    assert "  engine: sqlite → postgresql" in text
    assert "  jobs: 10000 → 5" in text
    assert "disk flush" not in text  # Measured, and near enough.
    assert "schema" not in text
    assert "The bare driver itself" not in text  # Another engine has another one.
    slow = {**BEFORE, "settings": {**SETTINGS, "disk_flush_ms": 8.0}}
    found = compare(BEFORE, slow, "--json")["settings_that_differ"]
    assert found == {"disk_flush_ms": {"before": 0.12, "after": 8.0}}


# Wrong words and files

OTHER_JSON = ['{"total": 3}', "[1, 2]", "3", "null", '{"settings": {}, "drain_per_s": "fast"}', '{"drain_per_s": 1}',
              '{"settings": 3, "drain_per_s": 1}', '{"settings": {}, "drain_per_s": 1, "rounds": 3}',
              '{"settings": {}, "drain_per_s": 1, "raw": []}']  # fmt: skip


@pytest.mark.parametrize("content", OTHER_JSON)
def test_json_of_something_else_is_refused(call: Call, tmp_path: Path, content: str) -> None:
    (tmp_path / "before.json").write_text(json.dumps(BEFORE))
    (tmp_path / "other.json").write_text(content)
    outcome = call("bench", "--compare", "before.json", "other.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "other.json is not a file of penstock bench: penstock bench --raw --out FILE makes one" in outcome.err


@pytest.mark.parametrize("content", [b"", b"{", b"hello", b"\xff\xfe"])
def test_what_is_not_json_is_refused(call: Call, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.json").write_bytes(content)
    outcome = call("bench", "--compare", "other.json", "other.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "other.json is not JSON" in outcome.err


def test_a_file_that_is_missing_and_one_that_is_a_folder(call: Call, tmp_path: Path) -> None:
    assert "there is no file before.json: correct the name" in call("bench", "--compare", "before.json", "x").err
    assert ". cannot be read" in call("bench", "--compare", ".", "x").err


def test_runs_with_nothing_in_common(call: Call, tmp_path: Path) -> None:
    (tmp_path / "before.json").write_text('{"settings": {}, "drain_per_s": 1}')
    (tmp_path / "after.json").write_text('{"settings": {}, "enqueue_bulk_per_s": 1}')
    outcome = call("bench", "--compare", "before.json", "after.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "have no figure in common" in outcome.err


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["--compare", "before.json"], "'--compare' requires 2 arguments"),
        (["--compare", "before.json", "--json"], "--compare takes two files: penstock bench --compare before.json"),
        (["--compare", "a", "b", "--raw", "--jobs", "5"], "measures nothing: leave --raw --jobs out"),
        (["--compare", "a", "b", "--out", "c"], "measures nothing: leave --out out"),
    ],
)
def test_wrong_words_name_the_fix(call: Call, words: list[str], fix: str) -> None:
    outcome = call("bench", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert fix in outcome.err
