"""docs/testing.md: the project that it shows, run by pytest as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.testing.runs import ATTEMPTS_MAX
from tests.docs.pages import ROOT, blocks, files, run_python

pytestmark = pytest.mark.turns

PAGE = ROOT / "docs" / "testing.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files of the page, but for the conftest that it shows as another way."""
    for name, text in files(PAGE).items():
        if name != "conftest.py":
            (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(ini(), encoding="utf-8")
    return tmp_path


def ini() -> str:
    [shown] = ["\n".join(block.lines) for block in blocks(PAGE) if block.language == "toml"]
    return f"{shown}\n"


def run_pytest(project: Path) -> str:
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (project / "jobs.db").exists()
    return done.stdout


def test_the_tests_of_the_page_pass(project: Path) -> None:
    assert "4 passed" in run_pytest(project)


def test_so_they_do_with_the_fixture_instead_of_the_option(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (project / "conftest.py").write_text(files(PAGE)["conftest.py"], encoding="utf-8")
    assert "4 passed" in run_pytest(project)


def test_every_test_can_be_kept_off_the_real_store(project: Path) -> None:
    added = re.search(r"`(usefixtures = .*?)`", TEXT)
    assert added is not None
    (project / "pyproject.toml").write_text(f"{ini()}{added[1]}\n")
    (project / "test_more.py").write_text("import tasks\n\n\ndef test_more():\n    tasks.sign_up('ada@example.org')\n")
    assert "5 passed" in run_pytest(project)


def test_the_message_on_the_page_is_the_real_one(project: Path) -> None:
    (project / "test_tasks.py").write_text(
        "from tasks import send_email, sign_up\n\n\n"
        "def test_it(jobs):\n"
        "    sign_up('eve@example.org')\n"
        "    jobs.assert_enqueued(send_email, to='ada@example.org')\n"
    )
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", cwd=project)
    shown = [line for block in blocks(PAGE) if block.language == "text" for line in block.lines]
    said = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if line.startswith("E ")]
    assert [line.strip() for line in shown if line] == [line for line in said if line]


def test_the_page_names_the_defaults() -> None:
    assert f"| `limit` | {ATTEMPTS_MAX} |" in TEXT
