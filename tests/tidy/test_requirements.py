"""The catalogue of requirements: whatever is there names tests that exist, and every id that is used is listed."""

from __future__ import annotations

import pytest

from tests.tidy.requirements import PAGE, mistakes, names_in, references, requirements, strangers
from tests.tidy.tree import ROOT, files, name

TEXT = PAGE.read_text(encoding="utf-8")
PAPERS = [path for path in files(".md") if path.parent == ROOT]
READ = [
    path for folder in ("src", "tests", "docs", "examples") for path in files(".py", ".md", ".sql", under=ROOT / folder)
]
HERE = ("tests/tidy/requirements.py", "tests/tidy/test_requirements.py")


def test_the_page_says_of_each_requirement_what_it_should() -> None:
    assert len(requirements(TEXT)) > 80
    assert mistakes(TEXT, names_in) == []


def test_everything_that_is_referred_to_is_in_the_catalogue() -> None:
    known = {one.id for one in requirements(TEXT)}
    found = {name(path): strangers(path.read_text(encoding="utf-8"), known) for path in [*READ, *PAPERS]}
    assert {path: ids for path, ids in found.items() if ids and path not in HERE} == {}


# That these can fail


GOOD = "### R1\n\n*there.* Claims.\n\nTests: [`test_a`](../tests/a.py), [`tests/a.py`](../tests/a.py)\n"
PARTLY = GOOD.replace("*there.* Claims.", "*partly.* Claims. **Missing:** the rest.")
PLANNED = "### R2\n\n*planned.* More.\n"


def names_in_a(file: str) -> set[str] | None:
    return {"tests/a.py": {"test_a"}, "tests/helper.py": set[str]()}.get(file)


@pytest.mark.parametrize("page", [GOOD, PARTLY, PLANNED, f"# All\n\n## Claims\n\n{GOOD}\n## Others\n\n{PLANNED}"])
def test_a_page_that_is_right_has_no_mistake(page: str) -> None:
    assert mistakes(page, names_in_a) == []


@pytest.mark.parametrize(
    ("page", "mistake"),
    [
        (GOOD + GOOD, "R1 is listed twice"),
        (GOOD.replace("R1", "Claims"), "Claims is no id"),
        (GOOD.replace("there", "done"), "R1 has the state 'done', which is none of: there, partly, planned"),
        (GOOD.replace("*there.* ", ""), "R1 has the state '', which is none of: there, partly, planned"),
        (GOOD.partition("Tests")[0], "R1 is there and names no test"),
        (PARTLY.partition("Tests")[0], "R1 is partly and names no test"),
        (GOOD.replace("there", "planned"), "R1 is planned and has tests"),
        (
            GOOD.replace("there", "partly"),
            "R1 is partly: what is Missing is said where it is partly there, and only there",
        ),
        (
            PARTLY.replace("partly", "there"),
            "R1 is there: what is Missing is said where it is partly there, and only there",
        ),
        (GOOD.replace("test_a", "test_b"), "R1 names test_b, which is not in tests/a.py"),
        (GOOD.replace("tests/a.py", "tests/helper.py"), "R1 names tests/helper.py, which has no test"),
        (GOOD.replace("tests/a.py", "tests/b.py"), "R1 names tests/b.py, which does not exist"),
    ],
)
def test_a_mistake_on_a_page_is_told(page: str, mistake: str) -> None:
    assert mistake in mistakes(page, names_in_a)


def test_tests_and_faults_are_found_in_files_that_exist() -> None:
    assert "test_tests_and_faults_are_found_in_files_that_exist" in (names_in("tests/tidy/test_requirements.py") or ())
    assert "worker-killed" in (names_in("tests/chaos/faults/kills.py") or ())
    assert "names_in_a" not in (names_in("tests/tidy/test_requirements.py") or ())
    assert names_in("tests/tidy/test_nothing.py") is None


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Claims (R1).", {"R1"}),
        ("Claims (R1, L3): both.", {"R1", "L3"}),
        ("see B1.4 in docs/requirements.md", {"B1.4"}),
        ("as M64 and UTF8 in f(x1) and (A, B)", set()),
    ],
)
def test_what_a_text_refers_to(text: str, ids: set[str]) -> None:
    assert references(text) == ids


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Claims (R1).", []),
        ("Claims (R1, R9).", ["R9"]),
        ("R9 in docs/requirements.md", ["R9"]),
        ("Of another alphabet (Z9).", []),
        ("Claims (SPEC R1).", ["SPEC R1"]),
        ("as RELIABILITY.md says", ["RELIABILITY.md"]),
        ("SPEC = JobSpec()", []),
    ],
)
def test_what_is_not_known_is_told(text: str, found: list[str]) -> None:
    assert strangers(text, {"R1"}) == found
