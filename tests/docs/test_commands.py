"""Every command that a page tells people to type exists, has the flags shown, and, where it ends by itself, works."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock import App, JobFailed
from tests.docs.pages import PAGE_SECONDS_MAX, PAPERS, ROOT, STRICT, commands, run_python, script
from tests.forked import STARTING, Forks

CLI = ("-c", "from penstock.cli.main import main; main()")
STORE = "sqlite:///jobs.db"
# The page of the storefront speaks of a folder of its own: test_storefront.py types its commands there.
WITH_COMMANDS = [page for page in PAPERS if commands(page) and page.name != "storefront.md"]
WITH_PENSTOCK = [page for page in WITH_COMMANDS if any(line.startswith("penstock ") for line in commands(page))]


def ends_quickly(words: list[str]) -> bool:
    """Whether a command can be run here: a tour, a measurement, a coordinator and most workers take too long."""
    return words[0] not in ("bench", "coordinator", "demo", "start", "worker") or "--burst" in words


@pytest.fixture(scope="module")
def as_readme_leaves_it(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    (folder / "tasks.py").write_text(script(ROOT / "README.md"), encoding="utf-8")
    for items in ("stores.jsonl", "readers.jsonl"):
        (folder / items).write_text('{"number": 1}\n{"number": 2}\n', encoding="utf-8")
    app = App(f"sqlite:///{folder}/jobs.db")
    try:
        broken = app.enqueue("send_email", {"address": "nowhere"})
        done = penstock(["worker", "tasks:app", "--burst"], folder)
        assert done.returncode == 0, done.stderr
        with pytest.raises(JobFailed):
            broken.result(timeout=10)
        (folder / "ID").write_text(broken.id)
    finally:
        app.close()
    return folder


@pytest.fixture
def project(as_readme_leaves_it: Path, tmp_path: Path) -> Path:
    """A folder as README leaves it: tasks.py, and a store with a completed job and a dead letter."""
    shutil.copytree(as_readme_leaves_it, tmp_path, dirs_exist_ok=True)
    return tmp_path


@functools.cache
def forks() -> Forks:
    made = Forks(dict(os.environ), *STRICT)
    atexit.register(made.close)
    return made


def penstock(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PENSTOCK_STORE": STORE, "PYTHONPATH": str(folder)}
    if words[0] in STARTING:
        return run_python(*CLI, *words, cwd=folder, **environment)
    done = forks().run(words, folder, os.environ | environment, "", PAGE_SECONDS_MAX)
    return subprocess.CompletedProcess(words, *done)


@pytest.mark.parametrize("page", WITH_PENSTOCK, ids=lambda page: page.name)
def test_penstock_commands_work(page: Path, project: Path) -> None:
    broken = (project / "ID").read_text()
    for line in commands(page):
        first, *words = shlex.split(line)
        if first == "python":
            assert run_python(*words, cwd=project).returncode == 0, line
        if first != "penstock":
            continue
        if ends_quickly(words):
            done = penstock([broken if word == "ID" else word for word in words], project)
            # They tell with their code that the job is dead, and that there is no worker.
            expected = 1 if words[:2] == ["jobs", "watch"] or words[0] == "health" else 0
            assert done.returncode == expected, f"{line}\n{done.stdout}{done.stderr}"
        else:
            check_flags(line, words)


def check_flags(line: str, words: list[str]) -> None:
    shown = help_of(words[0])
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"{flag}\b", shown), f"{line}: there is no {flag}"


@functools.cache
def help_of(command: str) -> str:
    shown = run_python(*CLI, command, "--help", cwd=ROOT)
    assert shown.returncode == 0, f"{command}\n{shown.stderr}"
    return shown.stdout


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_make_targets_exist_and_other_commands_are_known(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for line in commands(page):
        first, *words = shlex.split(line)
        if first == "make":
            assert words[0] in targets, line
        else:
            assert first in ("penstock", "pip", "export") or words[:2] == ["-m", "apsw"], line


def test_bare_make_shows_every_target(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile")], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for target in ("help", "demo", "test", "check", "fmt", "bench", "clean"):
        assert re.search(rf"^  make {target} +\w+", done.stdout, flags=re.MULTILINE), target
