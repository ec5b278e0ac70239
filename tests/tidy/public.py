"""What of penstock is public, and what code that stands outside of it uses beside that.

Public is what users may rely on: the names that `penstock` and `penstock.testing` export, and those of other modules
that the docs import, which are listed here. Examples and contrib are code as users write it: they use nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import penstock
import penstock.testing

NAMED_BY_DOCS = {"penstock.store.contract": {"ListJobs"}}
PUBLIC = {
    "penstock": {*penstock.__all__, "testing"},
    "penstock.testing": set(penstock.testing.__all__),
    **NAMED_BY_DOCS,
}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What is imported of penstock: the module, and the name in it; no name where the module itself is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((node.module or "", one.name) for one in node.names if _is_ours(node.module or ""))
        elif isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names if _is_ours(one.name))


def uses_of_private_names(tree: ast.AST, own: str = "") -> list[str]:
    """`own` is the package of penstock that the code belongs to, if it does: what is in there is not foreign to it."""
    found = [
        f"{module}.{name}".rstrip(".")
        for module, name in imported(tree)
        if module not in PUBLIC or (name and name not in PUBLIC[module])
        if not (own and f"{module}.".startswith(f"{own}."))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_penstock = node.value.id == "penstock" and node.attr not in PUBLIC["penstock"]
            hidden = node.attr.startswith("_") and not node.attr.endswith("__") and node.value.id not in ("self", "cls")
            found += [f"{node.value.id}.{node.attr}"] if of_penstock or hidden else []
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "penstock"
