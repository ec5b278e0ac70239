"""The pytest plugin, in a pytest of its own: how it finds the app, what it says if it cannot, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import run_python

pytestmark = pytest.mark.turns

TASKS = """
from penstock import App

app = App("sqlite:///jobs.db")

@app.job
async def greet(name: str) -> str:
    return f"hello {name}"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npenstock_app = tasks:app\n")
    return tmp_path


def run_tests(project: Path, body: str) -> str:
    (project / "test_it.py").write_text(body)
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-config", cwd=project)
    assert not (project / "jobs.db").exists()
    return done.stdout


def test_each_test_has_its_own_sandbox_also_after_a_failure(project: Path) -> None:
    body = """
from tasks import app, greet

def test_one(jobs):
    greet.enqueue("ada")
    jobs.run()
    assert 1 == 2, "on purpose"

def test_two(jobs):
    jobs.assert_not_enqueued()

def test_three():
    assert not hasattr(app.store, "enqueued")
"""
    shown = run_tests(project, body)
    assert "1 failed, 2 passed" in shown
    assert "on purpose" in shown


def test_a_dead_job_shows_the_handlers_traceback(project: Path) -> None:
    (project / "tasks.py").write_text(TASKS + "\n@app.job(attempts=1)\ndef boom():\n    raise ValueError('so it is')\n")
    shown = run_tests(project, "from tasks import boom\n\ndef test_it(jobs):\n    boom.enqueue()\n    jobs.run()\n")
    assert "ValueError: so it is" in shown
    assert "raise ValueError('so it is')" in shown
    assert "tasks.py" in shown


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        ("", "the fixture `jobs` does not know your app: set penstock_app = tasks:app in pytest's ini file"),
        ("penstock_app = tasks", "penstock_app = tasks: 'tasks' is not MODULE:APP"),
        ("penstock_app = task:app", "penstock_app = task:app: there is no module 'task'"),
        ("penstock_app = tasks:ap", "penstock_app = tasks:ap: the module 'tasks'"),
        ("penstock_app = tasks:greet", "tasks:greet is a JobType, not a penstock.App"),
    ],
)
def test_an_app_that_cannot_be_found_is_said_in_one_sentence(project: Path, ini: str, message: str) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    shown = run_tests(project, "def test_it(jobs):\n    pass\n")
    assert message in shown
    assert "Traceback" not in shown
    assert "1 error" in shown


def test_a_run_that_does_not_use_it_does_not_pay_for_it(project: Path) -> None:
    body = "import sys\n\ndef test_it():\n    assert 'penstock.app' not in sys.modules and 'apsw' not in sys.modules\n"
    assert "1 passed" in run_tests(project, body)
