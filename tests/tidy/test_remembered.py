"""What is remembered of the store, and until when: nothing is that the page on it does not name."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.remembered import PAGE, found_in, mistakes, remembered
from tests.tidy.requirements import names_in


def test_whatever_is_remembered_is_on_the_page() -> None:
    assert len(remembered()) > 100
    assert mistakes(PAGE.read_text(encoding="utf-8"), remembered(), names_in) == []


# That this can fail


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("class A:\n def __init__(self, x): self._known = {}", {"A._known"}),
        ("class A:\n def __init__(self, x): self._known: dict[str, int] = dict()", {"A._known"}),
        ("class A:\n def __init__(self, x): self._last = None", {"A._last"}),
        ("class A:\n def __init__(self, x): self._a, self._b = x", {"A._a", "A._b"}),
        ("class A:\n def __init__(self, x): self._given = x", set()),
        ("class A:\n def __init__(self, x): self._lanes = collections.deque[int]()", {"A._lanes"}),
        ("class A:\n def learn(self, x): self._given = x", {"A._given"}),
        ("class A:\n async def learn(self): self._count += 1", {"A._count"}),
        ("@dataclass\nclass A:\n a: int\n b: bool = False", {"A.b"}),
        ("@dataclass(frozen=True)\nclass A:\n b: bool = False", set()),
        ("_known: dict[str, int] = {}", {"_known"}),
        ("KNOWN = {1: 2}", set()),
        ("@lru_cache(5)\ndef find(x): ...", {"find()"}),
        ("@functools.cache\ndef find(x): ...", {"find()"}),
    ],
)
def test_what_can_remember_is_found(code: str, found: set[str]) -> None:
    assert set(found_in(ast.parse(code))) == found


GOOD = (
    "| `a.py` `A` | `_lanes`, `_last` | until | [`test_a`](../../tests/a.py) |\n"
    "## Held, and not learned from the store\n"
    "| `a.py` | `find()` | why |\n"
    "| `b.py` `B` | *all* | why |\n"
)
FOUND = {"a.py A._lanes", "a.py A._last", "a.py find()", "b.py B.one", "b.py B.two"}


def names_in_a(file: str) -> set[str] | None:
    return {"tests/a.py": {"test_a"}}.get(file)


def test_a_page_that_is_right_has_no_mistake() -> None:
    assert mistakes(GOOD, FOUND, names_in_a) == []


@pytest.mark.parametrize(
    ("page", "mistake"),
    [
        (GOOD.replace("`_lanes`, ", ""), "a.py A._lanes is not on the page"),
        (GOOD.replace("`find()`", "`find()`, `lost()`"), "a.py lost() is on the page and not in the code"),
        (GOOD.replace("`B`", "`C`"), "b.py B.one is not on the page"),
        (GOOD.replace("`B`", "`C`"), "b.py C.* is on the page and not in the code"),
        (GOOD + GOOD.splitlines()[0], "a.py A._lanes is on the page twice"),
        (GOOD.replace("[`test_a`](../../tests/a.py)", ""), "a.py A._last is learned from the store and names no test"),
        (GOOD.replace("test_a", "test_b"), "a.py A._last names test_b, which is not in tests/a.py"),
        (GOOD.replace("tests/a.py", "tests/b.py"), "a.py A._last names test_a, which is not in tests/b.py"),
    ],
)
def test_a_mistake_on_a_page_is_told(page: str, mistake: str) -> None:
    assert mistake in mistakes(page, FOUND, names_in_a)
