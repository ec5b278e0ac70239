"""docs/promises.md: every promise names tests that exist, and every fault of chaos proves a promise."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

from tests.chaos.catalogue import FAULTS, all_faults
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "promises.md"
TEXT = PAGE.read_text(encoding="utf-8")
LINK = re.compile(r"\[`([^`\]]+)`\]\(([^)#\s]+)\)")
PROMISES = 12


def proofs(text: str) -> list[tuple[str, Path]]:
    """What a text links to as proof: the name of a test or of a fault, and the file in which it should be."""
    return [(name, (PAGE.parent / target).resolve()) for name, target in LINK.findall(text)]


def promises() -> dict[int, str]:
    """The sections of the promises by their number."""
    parts = re.split(r"^### (\d+)\. ", TEXT.partition("## Durability")[0], flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def functions_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def faults_in(path: Path) -> set[str]:
    all_faults()
    return {name for name, fault in FAULTS.items() if Path(inspect.getfile(fault.run)).resolve() == path}


def test_every_link_names_a_test_or_a_fault_that_is_there() -> None:
    found = proofs(TEXT)
    assert len(found) > 50
    for name, path in found:
        there = functions_in(path) if name.startswith("test_") else faults_in(path)
        assert name in there, f"{name} is not in {path.relative_to(ROOT)}"


def test_every_promise_that_is_made_has_a_proof() -> None:
    found = promises()
    assert sorted(found) == list(range(1, PROMISES + 1))
    assert [number for number, text in found.items() if not proofs(text) and "*Coming.*" not in text] == []


def test_every_fault_of_chaos_proves_something() -> None:
    named = {name for name, _ in proofs(TEXT)}
    assert {fault.name for fault in all_faults() if fault.short} - named == set()
