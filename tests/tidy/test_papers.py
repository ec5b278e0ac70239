"""The papers beside the code: links that resolve, a changelog in the common form, and the files people look for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT, SOURCE, files, name

FILE = re.compile(r"`([\w.-]+/[\w./-]*\.(?:py|sql))`")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
VERSION = re.compile(r"## \[(?P<version>Unreleased|\d+\.\d+\.\d+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}|unreleased))?")
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize("path", files(".md"), ids=name)
def test_links_resolve(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.match(r"(https?|mailto):", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.exists(), f"{target} leads nowhere"
        if anchor:
            assert anchor in anchors(page), f"{target} names no heading"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_changelog_keeps_the_common_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith("# Changelog\n")
    assert "https://keepachangelog.com" in text
    headings = re.findall(r"^## .*$", text, flags=re.MULTILINE)
    assert headings, "a changelog has at least one version"
    for heading in headings:
        assert VERSION.fullmatch(heading), heading
    assert set(re.findall(r"^### (.+)$", text, flags=re.MULTILINE)) <= KINDS


def test_the_changelog_speaks_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"])
def test_the_papers_that_people_look_for_exist(paper: str) -> None:
    assert (ROOT / paper).read_text(encoding="utf-8").strip()


def test_the_licence_is_the_one_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "LICENSE").read_text()
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_every_decision_is_numbered_in_order() -> None:
    numbers = [path.name[:4] for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


@pytest.mark.parametrize("path", files(".md"), ids=name)
def test_paths_in_the_text_are_there(path: Path) -> None:
    """A file is named from the root, from the package, or from one of its packages or engines."""
    bases = (ROOT, SOURCE, *SOURCE.iterdir(), *(SOURCE / "store").iterdir())
    named = set(FILE.findall(path.read_text(encoding="utf-8")))
    assert {one for one in named if not any((base / one).exists() for base in bases)} == set()
