"""`make bench-growth` and its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.growth_curves.catalogue import CURVES, chosen_curves, chosen_engines
from tests.benchmarks.growth_samples import every_curve
from tests.benchmarks.test_peers_command import make


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr("sys.argv", ["growth", *map(str, words)])
    monkeypatch.setattr(growth, "run_inside", lambda module: pytest.fail("something was installed"))
    growth.main()


def test_help_names_it() -> None:
    assert "make bench-growth" in make("help")


def test_make_passes_the_options_on() -> None:
    options = ["CURVES=waiting,types", "ENGINES=sqlite", "SIZE=full", "ROUNDS=5", "MINUTES=30", "OUT=here"]
    words = make("-n", "bench-growth", *options, "PLOTS=docs/images", "DATA=there", "REPLOT=old.json", "PYTHON=py")
    assert " ".join(words.replace("\\\n", " ").split()) == (
        'py -m benchmarks.growth --curves "waiting,types" --engines "sqlite" --size "full" --rounds "5" '
        '--minutes "30" --out "here" --plots "docs/images" --data "there" --replot "old.json"'
    )


def test_make_without_options_passes_none() -> None:
    assert make("-n", "bench-growth", "PYTHON=py").replace("\\\n", " ").split() == ["py", "-m", "benchmarks.growth"]


def test_the_defaults() -> None:
    found = growth.arguments([])
    assert (found.size, found.rounds, found.minutes, found.out) == ("small", 3, None, Path("bench-results"))
    assert chosen_curves("") == list(CURVES.values())
    assert chosen_engines("") == ["sqlite", "postgres"]


def test_curves_and_engines_are_chosen_in_the_order_of_the_catalogue() -> None:
    assert [curve.name for curve in chosen_curves("types, waiting,")] == ["waiting", "types"]
    assert chosen_engines("postgres,sqlite") == ["sqlite", "postgres"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--curves", "waitin"],
            r"no curve 'waitin' \(did you mean waiting\?\); choose from: waiting, history, .*processes",
        ),
        (["--engines", "mysql"], r"no engine 'mysql'.*; choose from: sqlite, postgres"),
        (["--curves", "types", "--minutes", "30"], r"MINUTES= is for the snapshot curve: add it to CURVES="),
    ],
)
def test_a_wrong_choice_ends_it_before_anything_is_installed_and_names_the_fix(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=said):
        run(monkeypatch, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "huge"], "invalid choice: 'huge' (choose from"),
        (["--rounds", "0"], "'0' is not a whole number from 1 on"),
        (["--minutes", "half"], "'half' is not a whole number from 1 on"),
    ],
)
def test_an_option_that_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        growth.arguments(words)
    assert said in capsys.readouterr().err


def test_plots_are_drawn_again_from_a_file_without_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "growth-1.json"
    path.write_text(json.dumps(every_curve().as_json()))
    run(monkeypatch, "--replot", path, "--plots", tmp_path / "images")
    assert sorted(one.name for one in (tmp_path / "images").iterdir()) == sorted(f"growth-{n}.svg" for n in CURVES)
    assert str(tmp_path / "images" / "growth-waiting.svg") in capsys.readouterr().out


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), ("{", "not JSON"), ("{}", "not as expected")])
def test_a_file_that_holds_no_results_is_refused_and_the_fix_named(
    content: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growth-1.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit, match=rf"{said}.*; name a growth-….json that make bench-growth wrote"):
        run(monkeypatch, "--replot", path)
