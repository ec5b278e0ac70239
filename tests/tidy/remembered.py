"""What the code remembers between two operations, as a test finds it, and what docs/decisions/0023 says of it.

Found is whatever can hold something that was learned: an attribute that begins as an empty or constant value or as a
collection, one that is set again later, a module's own collection, and a function that keeps its answers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.requirements import Names
from tests.tidy.tree import ROOT, SOURCE, files, parse

PAGE = ROOT / "docs" / "decisions" / "0023-what-is-remembered.md"
LOOKED_AT = ("store", "domain", "system", "app", "client", "declare/jobtype.py")
"""Whatever lives as long as an App. A worker holds jobs, and asks the store about them all the time."""

HELD = "## Held, and not learned from the store"

_COLLECTIONS = (ast.Dict, ast.Set, ast.List, ast.DictComp, ast.SetComp, ast.ListComp)
_MAKERS = {"dict", "set", "list", "deque", "defaultdict", "Counter", "OrderedDict", "WeakSet", "WeakKeyDictionary"}
_NAMED = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[`([^`\]]+)`\]\(\.\./\.\./([^)#\s]+)\)")


def remembered() -> set[str]:
    """All that is found, each as `file.py Class.attribute` or `file.py name`."""
    paths = [path for name in LOOKED_AT for path in _python_in(SOURCE / name)]
    return {f"{path.relative_to(SOURCE).as_posix()} {name}" for path in paths for name in found_in(parse(path))}


def _python_in(path: Path) -> list[Path]:
    return [path] if path.suffix else files(".py", under=path)


def found_in(tree: ast.Module) -> Iterator[str]:
    yield from filter(None, map(_empty_collection, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{name}" for name in _attributes(node))
        elif any("cache" in ast.unparse(decorator) for decorator in getattr(node, "decorator_list", ())):
            yield f"{node.name}()"  # type: ignore[attr-defined]


def _empty_collection(node: ast.stmt) -> str | None:
    """A module's collection that is empty at first is there to be filled."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return ast.unparse(target) if ast.unparse(node.value) in ("{}", "[]", "set()", "dict()", "list()") else None


def _attributes(node: ast.ClassDef) -> set[str]:
    found: set[str] = set()
    if any("dataclass" in (text := ast.unparse(one)) and "frozen" not in text for one in node.decorator_list):
        found |= {ast.unparse(one.target) for one in node.body
                  if isinstance(one, ast.AnnAssign) and one.value is not None}  # fmt: skip
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            for name, value in _assigned(method):
                if method.name != "__init__" or value is None or _may_be_filled(value):
                    found.add(name)
    return found


def _assigned(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    """The attributes of its own that a method sets, and to what, if that is one value."""
    for node in ast.walk(method):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif (isinstance(node, ast.AnnAssign) and node.value is not None) or isinstance(node, ast.AugAssign):
            targets = [node.target]
        value = getattr(node, "value", None)
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                if isinstance(part, ast.Attribute) and ast.unparse(part.value) == "self":
                    yield part.attr, value if part is target else None


def _may_be_filled(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2].partition("[")[0] in _MAKERS
    return isinstance(value, (*_COLLECTIONS, ast.Constant))


# The page


def listed(page: str, found: set[str]) -> dict[str, list[tuple[str, str]]]:
    """What a page names, each with its tests. A row has the file and the holder, names or *all*, why, and tests."""
    known: dict[str, list[tuple[str, str]]] = {}
    for line in page.splitlines():
        if not line.startswith("| `"):
            continue
        holder, names = (cell.strip() for cell in line.strip("|").split("|")[:2])
        prefix = " ".join(_NAMED.findall(holder)) + ("." if holder.count("`") > 2 else " ")
        named = [prefix + name for name in _NAMED.findall(names)]
        if names == "*all*":
            named = [name for name in found if name.startswith(prefix)] or [prefix + "*"]
        known |= dict.fromkeys(named, _LINK.findall(line))
    return known


def mistakes(page: str, found: set[str], names_in: Names) -> list[str]:
    learned, held = (listed(part, found) for part in page.split(HELD))
    wrong = [f"{name} is not on the page" for name in sorted(found - learned.keys() - held.keys())]
    wrong += [f"{name} is on the page and not in the code" for name in sorted((learned.keys() | held.keys()) - found)]
    wrong += [f"{name} is on the page twice" for name in sorted(learned.keys() & held.keys())]
    wrong += [f"{name} is learned from the store and names no test" for name, tests in learned.items() if not tests]
    return wrong + [
        f"{name} names {test}, which is not in {file}"
        for name, tests in learned.items()
        for test, file in tests
        if test not in (names_in(file) or ())
    ]
