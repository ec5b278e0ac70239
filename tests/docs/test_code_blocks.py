"""Every Python block that a user reads is run: the blocks of a page in order, as one program, beside a fresh store.

A block whose first line names a file (# tasks.py) is written there first, for the program to import.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, PAPERS, ROOT, blocks, files, run_python, script

LANGUAGES = {"python", "console", "text", "toml", "sql", "json", "yaml"}
WITH_CODE = [page for page in PAGES if script(page).strip()]


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    program = tmp_path / f"{page.stem.lower()}_page.py"
    program.write_text(script(page), encoding="utf-8")
    for name, text in files(page).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = run_python(str(program), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_readme_prints_what_it_says(tmp_path: Path) -> None:
    page = ROOT / "README.md"
    (tmp_path / "tasks.py").write_text(script(page), encoding="utf-8")
    done = run_python("tasks.py", cwd=tmp_path)
    assert f"prints `{done.stdout.strip()}`" in page.read_text(encoding="utf-8")


def test_readme_and_guide_have_code() -> None:
    assert {"README.md", "guide.md"} <= {page.name for page in WITH_CODE}
