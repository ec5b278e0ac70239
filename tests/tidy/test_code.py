"""How the code reads is part of the product: sizes, docstrings, and what may not appear."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import apsw
import pytest

from tests.tidy.tree import ROOT, SOURCE, files, name, parse, python_files, text_files

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
OPEN_ENDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.])/(home/\w|Users/\w|root/|work/|tmp/\w)")


@pytest.mark.parametrize("path", [*python_files(), *files(".sql")], ids=name)
def test_a_file_holds_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES_MAX


def test_functions_are_short() -> None:
    too_long = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in python_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert too_long == []


def test_every_module_says_what_it_owns() -> None:
    assert [name(path) for path in files(".py", under=SOURCE) if not ast.get_docstring(parse(path))] == []


def test_nothing_is_left_open_in_the_source() -> None:
    left = [name(path) for path in files(".py", ".sql", under=SOURCE) if OPEN_ENDS.search(path.read_text())]
    assert left == []


def test_only_the_command_line_prints() -> None:
    prints = [
        f"{name(path)}:{node.lineno}"
        for path in files(".py", under=SOURCE)
        if path.relative_to(SOURCE).parts[0] != "cli"
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == []


@pytest.mark.parametrize("path", files(".sql", under=SOURCE / "store" / "sqlite" / "sql"), ids=name)
def test_a_statement_file_holds_one_statement(path: Path) -> None:
    assert len(statements(path.read_text(encoding="utf-8"))) == 1


def test_no_path_of_somebodys_machine() -> None:
    found = [
        f"{name(path)}: {match[0]}"
        for path in text_files()
        if (match := MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert found == []


def test_the_layers_are_checked_by_import_linter() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for contract in ("A lower layer never imports a higher one", "The domain is pure", "Only the composition root"):
        assert contract in text


def statements(sql: str) -> list[str]:
    """The statements of a text, split where SQLite itself sees their ends; comments alone are none."""
    found, rest = [], ""
    for line in sql.splitlines():
        rest += line + "\n"
        if apsw.complete(rest):
            found.append(rest)
            rest = ""
    without_comments = re.sub(r"--[^\n]*", "", rest)
    return [*found, rest] if without_comments.strip() else found
