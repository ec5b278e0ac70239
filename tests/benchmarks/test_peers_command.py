"""`make bench-peers` and its options."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peer_bench.environments import ROOT


def make(*words: str) -> str:
    """As from a shell, also when `make` itself runs the tests."""
    environment = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        ["make", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_help_names_it() -> None:
    assert "make bench-peers" in make("help")


def test_make_passes_the_options_on() -> None:
    words = make("-n", "bench-peers", "PEERS=huey,rq", "JOBS=10", "ROUNDS=1", "OUT=here", "DATA=there", "PYTHON=py")
    said = " ".join(words.replace("\\\n", " ").split())
    assert said == 'py -m benchmarks.peers --peers "huey,rq" --jobs "10" --rounds "1" --out "here" --data "there"'


def test_make_without_options_passes_none() -> None:
    assert make("-n", "bench-peers", "PYTHON=py").replace("\\\n", " ").split() == ["py", "-m", "benchmarks.peers"]


def test_the_defaults() -> None:
    found = peers.arguments([])
    assert (found.peers, found.jobs, found.rounds, found.out) == ("", 50_000, 3, Path("bench-results"))


@pytest.mark.parametrize("wrong", ["0", "-1", "many", "1.5"])
def test_a_size_that_is_none_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peers.arguments(["--jobs", wrong])
    assert f"{wrong!r} is not a whole number from 1 on" in capsys.readouterr().err


def test_an_unknown_peer_ends_it_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["peers", "--peers", "pgqueue"])
    monkeypatch.setattr(peers, "run_inside", lambda module: pytest.fail("something was installed"))
    with pytest.raises(SystemExit, match="PEERS: there is no peer 'pgqueue'"):
        peers.main()


def test_results_are_not_committed() -> None:
    assert "bench-results/" in (ROOT / ".gitignore").read_text().split()
