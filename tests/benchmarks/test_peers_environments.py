"""What is said of a peer that cannot be installed, and what is installed only once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.peer_bench import environments, session
from benchmarks.peer_bench.catalogue import PEERS, Facts, Peer
from benchmarks.peer_bench.environments import CannotInstall, Installed, cache_folder, install
from benchmarks.peer_bench.results import Results
from penstock.cli.output.tables import console


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs are only found in a folder that is empty, and a home that is new."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_environments_are_in_the_users_cache(bare_machine: Path) -> None:
    assert cache_folder() == bare_machine / "cache" / "penstock-bench"


@pytest.mark.usefixtures("bare_machine")
def test_without_node_the_fix_is_named() -> None:
    with pytest.raises(CannotInstall, match="Node is not installed: install Node"):
        install(PEERS["graphile-worker"])


@pytest.mark.usefixtures("bare_machine")
def test_without_a_new_python_the_fix_is_named() -> None:
    peer = Peer("future", "postgres", "run_future.py", ("future==1",), Facts(*[""] * 5), python=(4, 0))
    with pytest.raises(CannotInstall, match=r"needs Python 4\.0 or newer: install one, .* PYTHON=python4\.0"):
        install(peer)


def test_a_python_that_does_not_start_is_passed_over(bare_machine: Path) -> None:
    """As the stand-ins of version managers do for versions that are not chosen."""
    program(bare_machine, "python3.12", "exit 127")
    program(bare_machine, "python3.13", f'exec "{sys.executable}" "$@"')
    found = [one for one in environments._pythons() if environments._is_python(one, (3, 11))]
    assert found == [Path(sys.executable), bare_machine / "bin" / "python3.13"]


def test_an_npm_that_fails_is_told_with_its_last_lines_and_tried_again_next_time(bare_machine: Path) -> None:
    program(bare_machine, "node", "echo v22.20.0")
    program(bare_machine, "npm", "echo no such version >&2; exit 1")
    for _ in range(2):
        with pytest.raises(CannotInstall, match=r"npm install failed; .* PEERS=:\nno such version"):
            install(PEERS["graphile-worker"])


def test_node_packages_are_installed_once(bare_machine: Path) -> None:
    folder = bare_machine / "cache" / "penstock-bench" / "graphile-worker"
    package = folder / "node_modules" / "graphile-worker"
    program(bare_machine, "node", "echo v22.20.0")
    files = f"""/bin/mkdir -p "{package}"; echo '{{"version": "0.17.3"}}' > "{package}/package.json" """
    program(bare_machine, "npm", f'echo again >> "{bare_machine}/calls"; {files}')
    expected = Installed(bare_machine / "bin" / "node", "0.17.3", "Node 22.20", folder)
    assert [install(PEERS["graphile-worker"]) for _ in range(2)] == [expected] * 2
    assert (bare_machine / "calls").read_text().split() == ["again"]


def test_where_node_is_too_old_and_npm_brings_no_other_the_fix_is_named(bare_machine: Path) -> None:
    program(bare_machine, "node", "echo v16.20.0")
    program(bare_machine, "npm", "exit 0")
    with pytest.raises(CannotInstall, match=r"needs Node 22\.12 or newer"):
        install(PEERS["pg-boss"])


@pytest.mark.usefixtures("bare_machine")
def test_what_is_left_out_is_told_and_the_others_stay(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = Installed(Path("python"), "3.5.4", "Python 3.11.0", Path("folder"))
    monkeypatch.setattr(environments, "_install_python", lambda peer: there)
    results = Results([])
    peers = [PEERS[name] for name in ("graphile-worker", "arq", "huey")]
    assert [one.title for one in session.installed(peers, results, console(stderr=True))] == ["huey 3.5.4"]
    assert list(results.left_out) == ["graphile-worker", "arq"]
    told = capsys.readouterr().err
    assert "LEFT OUT graphile-worker: Node is not installed" in told
    assert "LEFT OUT arq: redis-server is not installed: apt install redis-server" in told
