"""Ctrl-C from the first moment on: a command ends with 130 and without a traceback, whatever is being imported."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.cli.conftest import Shell
from tests.tidy.tree import ROOT

PROGRAM = Path(__file__).with_name("interrupted_imports.py")
SCRIPT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["penstock"]
LIMIT_SECONDS = 300.0


def interrupted(shell: Shell, entry: str, which: str, *args: str, until: str = "") -> dict[str, tuple[int, str]]:
    """How the command ended when a Ctrl-C came at the import of each module."""
    done = subprocess.run(
        [sys.executable, PROGRAM, entry, which, until, *args],
        cwd=shell.folder, env=shell.env, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {name: (code, output) for name, code, output in json.loads(done.stdout)}


def wrong(found: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    return {name: (code, output) for name, (code, output) in found.items() if code != 130 or "Traceback" in output}


def test_during_the_imports_of_a_command(shell: Shell) -> None:
    assert shell.run("migrate", "--store", "sqlite:///jobs.db").code == 0
    which = r"penstock\.(cli|config|observe|store)(\.[a-z]+)?|typer|typer\.[a-z]+|rich|apsw|msgspec"
    found = interrupted(shell, SCRIPT, which, "counts", "--store", "sqlite:///jobs.db")
    assert {"penstock.cli", "penstock.cli.main", "penstock.cli.counts", "typer", "rich", "apsw"} <= set(found)
    assert wrong(found) == {}


def test_during_the_imports_as_a_module(shell: Shell) -> None:
    found = interrupted(shell, "penstock", r"penstock\.cli.*|typer|enum", "--version")
    assert {"penstock.cli", "penstock.cli.main", "typer"} <= set(found)
    assert wrong(found) == {}


def test_during_the_import_of_the_users_module(project: Path, shell: Shell) -> None:
    (project / "helpers.py").write_text("")
    (project / "app_of_mine.py").write_text("import helpers\nfrom tasks import app\n")
    args = ("worker", "app_of_mine:app", "--burst")
    found = interrupted(shell, SCRIPT, "app_of_mine|helpers|tasks", *args, until="tasks")
    assert set(found) == {"app_of_mine", "helpers", "tasks"}
    assert wrong(found) == {}


def test_after_the_command_has_done_its_work(project: Path, shell: Shell) -> None:
    with (project / "tasks.py").open("a") as tasks:
        tasks.write("\nimport atexit, signal\natexit.register(signal.raise_signal, signal.SIGINT)\n")
    ended = shell.run("worker", "tasks:app", "--burst")
    assert (ended.code, "Traceback" in ended.err) == (130, False)


def test_whoever_is_started_deaf_to_it_stays_deaf(project: Path, shell: Shell) -> None:
    with (project / "tasks.py").open("a") as tasks:
        tasks.write("\nimport os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    start = (
        "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nos.execv(sys.executable, sys.argv[1:])"
    )
    command = [sys.executable, "-m", "penstock", "worker", "tasks:app", "--burst"]
    assert shell.run(*command, program=["-c", start]).code == 0
    assert shell.run(*command[3:]).code == 130


def test_the_package_itself_imports_nothing() -> None:
    look = "import sys\nsys.path.insert(0, 'src')\nbefore = set(sys.modules)\nimport penstock\n"
    look += "print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['penstock']\n"
