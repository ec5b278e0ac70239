"""Examples and contrib use only what users may: the public names of penstock."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks
from tests.tidy.public import NAMED_BY_DOCS, PUBLIC, imported, uses_of_private_names
from tests.tidy.tree import ROOT, SOURCE, files, name, parse

CONTRIB = SOURCE / "contrib"


@pytest.mark.parametrize("path", files(".py", under=ROOT / "examples"), ids=name)
def test_an_example_uses_public_names_alone(path: Path) -> None:
    assert uses_of_private_names(parse(path)) == []


def test_contrib_uses_public_names_alone() -> None:
    found = files(".py", under=CONTRIB) if CONTRIB.exists() else []
    assert [
        (name(path), uses) for path in found if (uses := uses_of_private_names(parse(path), "penstock.contrib"))
    ] == []


def test_what_the_docs_import_is_public_and_what_is_listed_for_them_is_there() -> None:
    code = ["\n".join(block.lines) for page in PAGES for block in blocks(page) if block.language == "python"]
    used = {one for text in code for one in imported(ast.parse(text))}
    assert {one for one in used if one[1] not in PUBLIC.get(one[0], ())} == set()
    assert {(module, one) for module, names in NAMED_BY_DOCS.items() for one in names} <= used


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from penstock import App, Retry\nfrom penstock.testing import sandbox\nimport penstock", []),
        ("from penstock.contrib.web import serve", ["penstock.contrib.web.serve"]),
        ("from penstock.store.contract import EnqueueJobs", ["penstock.store.contract.EnqueueJobs"]),
        ("import penstock.client.client", ["penstock.client.client"]),
        ("import penstock\npenstock.client", ["penstock.client"]),
        ("app._worker({}, {})", ["app._worker"]),
        ("self._store, cls.__name__", []),
    ],
)
def test_a_use_of_a_private_name_is_found(code: str, found: list[str]) -> None:
    assert uses_of_private_names(ast.parse(code)) == found


def test_what_is_in_a_package_is_not_foreign_to_it() -> None:
    assert uses_of_private_names(ast.parse("from penstock.contrib.web import serve"), "penstock.contrib") == []
