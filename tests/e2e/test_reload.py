"""`penstock worker --reload` with real files and processes: new code runs, broken code waits for the next change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App
from tests.e2e.processes import Process
from tests.e2e.supervised import Supervised

pytestmark = pytest.mark.turns

VERSION = """
@app.job(attempts=1)
async def version() -> int:
    return {}
"""

WAITING = """
@app.job(attempts=1)
async def version() -> int:
    say("begun")
    await asyncio.Event().wait()
"""


def change(supervised: Supervised, reloader: Process, handlers: str) -> None:
    """Write the code, again if need be: a change in the moment before the watching began is not seen."""
    seen = len(reloader.printed("tasks.py changed"))
    for _ in range(10):
        supervised.write(handlers)
        try:
            reloader.wait_for("tasks.py changed", seen + 1, seconds=3)
        except AssertionError:
            continue
        return
    raise AssertionError(f"no change was noticed:\n{reloader.output}")


def test_a_change_of_the_code_is_run_by_new_processes(app: App, supervised: Supervised) -> None:
    reloader = supervised.start(VERSION.format(1), "--reload", "--processes", "2")
    reloader.wait_for("started: 50 slots", 2)
    assert app.enqueue("version").result(timeout=30) == 1
    change(supervised, reloader, VERSION.format(2))
    reloader.wait_for("started: 50 slots", 4)
    assert app.enqueue("version").result(timeout=30) == 2
    reloader.stop()


def test_broken_code_waits_for_the_next_change(app: App, supervised: Supervised) -> None:
    reloader = supervised.start(VERSION.format(1), "--reload")
    reloader.wait_for("started: 50 slots")
    change(supervised, reloader, "def broken(:\n")
    reloader.wait_for("SyntaxError")
    reloader.wait_for("cannot start; waiting for a change of the code")
    change(supervised, reloader, VERSION.format(3))
    assert app.enqueue("version").result(timeout=30) == 3
    reloader.stop()


def test_code_that_is_broken_from_the_beginning_waits_too(app: App, supervised: Supervised) -> None:
    reloader = supervised.start("import no_such_module\n", "--reload")
    reloader.wait_for("cannot start; waiting for a change of the code")
    change(supervised, reloader, VERSION.format(4))
    assert app.enqueue("version").result(timeout=30) == 4
    reloader.stop()


def test_a_running_job_goes_back_and_spends_no_attempt(app: App, supervised: Supervised) -> None:
    reloader = supervised.start(WAITING, "--reload", reload_seconds=0.2)
    job = app.enqueue("version")
    reloader.wait_for("begun")
    change(supervised, reloader, VERSION.format(5))
    assert job.result(timeout=30) == 5
    assert job.read().attempt == 1
    reloader.stop()


def test_other_files_restart_nothing(app: App, supervised: Supervised) -> None:
    reloader = supervised.start(VERSION.format(1), "--reload")
    reloader.wait_for("started: 50 slots")
    for name in ("notes.txt", "tasks.pyc", "pyproject.toml"):
        (supervised.folder / name).write_text("changed")
    change(supervised, reloader, VERSION.format(2))  # What was noticed, was noticed in order.
    assert reloader.printed("changed: restarting") == reloader.printed(" tasks.py changed: restarting")
    reloader.wait_for("started: 50 slots", 2)
    reloader.stop()


def test_without_watchfiles_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['watchfiles'] = None; sys.argv = ['penstock', 'worker', 'tasks:app', '--reload'];"
        "from penstock.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: --reload needs the package watchfiles: pip install 'penstock[reload]'\n"
