"""How the code reads is part of the product: sizes, docstrings, and what may not appear."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import apsw
import pytest

from tests.tidy.tree import ROOT, SOURCE, files, name, parse, python_files, text_files

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
FOLDER_MODULES_MAX = 15
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
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


def test_import_rules_have_no_holes() -> None:
    """Each package is in the layers, and each but those that may know an engine is kept from knowing one."""
    rules = {rule["name"].split(":")[0]: rule for rule in PYPROJECT["tool"]["importlinter"]["contracts"]}
    layers = {
        part for layer in rules["A lower layer never imports a higher one"]["layers"] for part in layer.split(" | ")
    }
    packages = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert layers == packages - {"__init__", "__main__"}
    kept = {
        module.removeprefix("penstock.").split(".")[0]
        for rule in rules.values()
        if {"penstock.store.sqlite", "penstock.store.postgres"} <= set(rule.get("forbidden_modules", ()))
        for module in rule["source_modules"]
    }
    assert layers - kept == {"bench", "engines", "system", "domain"}
    assert {"asyncio", "threading", "time"} <= set(rules["The domain is pure"]["forbidden_modules"])


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    folders = {path.parent for path in files(".py", under=SOURCE)}
    modules = {folder: [path for path in folder.glob("*.py") if path.name != "__init__.py"] for folder in folders}
    assert [name(folder) for folder, found in modules.items() if len(found) > FOLDER_MODULES_MAX] == []


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
