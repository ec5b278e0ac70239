"""The SQL files and the Python that uses them belong together, and every statement fits the schema."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import penstock.store.sqlite
from penstock.store.sqlite.connection.statements import sql, sql_files
from penstock.store.sqlite.store import SqliteStore

FOLDER = Path(penstock.store.sqlite.__file__).parent
FILES = set(sql_files())
SHARED = list((FOLDER.parent / "sql").rglob("*.py"))
"""Asks for statements that every engine has."""
TAKES_A_NAME = {"run", "change", "change_by", "value", "array", "sql", "ask"}


def trees() -> list[ast.Module]:
    return [ast.parse(file.read_text("utf-8")) for file in (*FOLDER.rglob("*.py"), *SHARED)]


def texts() -> set[str]:
    """Every text constant of the engine's modules."""
    nodes = (node for tree in trees() for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def named() -> set[str]:
    """Every text that is given as the name of a statement."""
    calls = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    found = set()
    for call in calls:
        function = call.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        first = call.args[0]
        if name in TAKES_A_NAME and isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.add(first.value)
    return found


def test_every_file_is_used() -> None:
    assert FILES - texts() == set()


def test_every_name_has_a_file() -> None:
    assert named() - FILES == set()
    assert named()


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_statement_fits_the_schema(store: SqliteStore, name: str) -> None:
    text = (
        sql(name)
        .replace("{where}", "true")
        .replace("{order}", "job.id")
        .replace("{column}", "")
        .replace("{token}", "")
        .replace("{overdue}", "SELECT 1")
        .replace("{ended}", "SELECT 1, 1, 1")
    )
    bindings = dict.fromkeys(re.findall(r":(\w+)", text))
    with store.transaction() as tx:
        assert tx.execute(f"EXPLAIN {text}", bindings)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "insert_job",
            "id lane stamp priority due_at now payload policy org workspace tags parent retried_from unique_key gates",
        ),
        ("ready_new_jobs", "last_job now"),
    ],
)
def test_what_is_given_by_order_is_named_in_this_order(name: str, values: str) -> None:
    """Python gives these values without their names: see enqueue.py."""
    text = re.sub(r"--.*", "", sql(name))
    assert list(dict.fromkeys(re.findall(r":(\w+)", text))) == values.split()
