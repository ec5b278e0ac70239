"""docs/requirements.md as a test reads it: what is required, in which state it is, and which tests would fail without.

A requirement is a heading with its id, a line that begins with its state, and links to its tests:

    ### R1

    *partly.* What it is. **Missing:** what is not there yet.

    Tests: [`test_name`](../tests/file.py), [`tests/whole_file.py`](../tests/whole_file.py)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tests.tidy.tree import ROOT, parse

PAGE = ROOT / "docs" / "requirements.md"
STATES = ("there", "partly", "planned")
MISSING = "**Missing:** "

_ID = r"[A-Z]\d{1,2}(?:\.\d)?"
_HEADING = re.compile(r"^### (.+)$", flags=re.MULTILINE)
_STATE = re.compile(r"^\*(\w+)\.\* ", flags=re.MULTILINE)
_LINK = re.compile(r"\[`([^`\]]+)`\]\(\.\./([^)#\s]+)\)")
_REFERENCE = re.compile(rf"\(({_ID}(?:, {_ID})*)\)|\b({_ID}) (?:in|of) docs/requirements\.md")
_ELSEWHERE = re.compile(rf"\bSPEC {_ID}|\b(?:SPEC|RELIABILITY|API|STORAGE|TARGETS|SEEING|DOORS|HOUSE|STYLE)\.md\b")


@dataclass(frozen=True)
class Requirement:
    """`state` is empty where none is written. A proof is the name of a test and the path of the file that has it."""

    id: str
    state: str
    text: str
    proofs: list[tuple[str, str]]


def requirements(page: str) -> list[Requirement]:
    """All that a page lists, in its order."""
    parts = _HEADING.split(re.sub(r"^## .*$", "", page, flags=re.MULTILINE))
    return [
        Requirement(name, state[1] if (state := _STATE.search(text)) else "", text, _LINK.findall(text))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


Names = Callable[[str], set[str] | None]


def mistakes(page: str, names_in: Names) -> list[str]:
    """What is wrong with a page. `names_in` answers which tests a file has, or None if there is no such file."""
    listed = requirements(page)
    ids = [one.id for one in listed]
    twice = [f"{name} is listed twice" for name in dict.fromkeys(ids) if ids.count(name) > 1]
    return twice + [
        f"{one.id} {wrong}" for one in listed for wrong in [*_wrong_form(one), *_wrong_proofs(one, names_in)]
    ]


def _wrong_form(one: Requirement) -> list[str]:
    found = []
    if not re.fullmatch(_ID, one.id):
        found.append("is no id")
    if one.state not in STATES:
        found.append(f"has the state {one.state!r}, which is none of: {', '.join(STATES)}")
    if (one.state == "partly") != (MISSING in one.text):
        found.append(f"is {one.state}: what is {MISSING.strip('*: ')} is said where it is partly there, and only there")
    if (one.state == "planned") == bool(one.proofs):
        found.append("is planned and has tests" if one.proofs else f"is {one.state} and names no test")
    return found


def _wrong_proofs(one: Requirement, names_in: Names) -> list[str]:
    found = []
    for name, file in one.proofs:
        names = names_in(file)
        if names is None:
            found.append(f"names {file}, which does not exist")
        elif not names if name == file else name not in names:
            found.append(
                f"names {name}, which is not in {file}" if name != file else f"names {file}, which has no test"
            )
    return found


@cache
def names_in(file: str) -> set[str] | None:
    """The tests of a file of this project, and the faults of chaos that it has."""
    path = ROOT / file
    if not path.is_file():
        return None
    functions = [node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = {node.name for node in functions if node.name.startswith("test_")}
    return tests | {node.name.replace("_", "-") for node in functions if any(map(_is_fault, node.decorator_list))}


def _is_fault(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "fault"


def references(text: str) -> set[str]:
    """The ids that a text refers to: in brackets, one or several, or by the name of the page."""
    found = (match[1] or match[2] for match in _REFERENCE.finditer(text))
    return {name for names in found for name in names.split(", ")}


def strangers(text: str, known: set[str]) -> list[str]:
    """What a text refers to that is not in the catalogue, or is in a paper outside of the project."""
    letters = {name[0] for name in known}
    unknown = sorted(name for name in references(text) - known if name[0] in letters)
    return [*unknown, *_ELSEWHERE.findall(text)]
