"""Long tests: `make test` leaves them out, ten slices have each of them once, and nets take their turns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from tests import long
from tests.long import SLICES, deal, is_wanted
from tests.tidy.tree import ROOT


class Item:
    def __init__(self, name: str, *marks: pytest.Mark) -> None:
        self.nodeid = name
        self._marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


LONG, NET, DEAR = pytest.mark.long.mark, pytest.mark.turns.mark, pytest.mark.long("dear").mark
SHORT = Item("t.py::short")
CASES = [Item(f"t.py::cases[{number}]", LONG) for number in range(25)]
NETS = [Item(f"t.py::net[{number}]", NET) for number in range(20)]
TOGETHER = [Item("t.py::one[0]", DEAR), Item("t.py::one[1]", DEAR), Item("u.py::other", DEAR)]
ITEMS = [SHORT, *CASES, *NETS, *TOGETHER]


def run(which: str) -> list[Item]:
    slices = cast(dict[Any, int], deal(cast(Any, ITEMS)))
    return [item for item in ITEMS if is_wanted(which, slices.get(item), by_turns=item in NETS)]


def test_ten_slices_have_each_of_them_once_and_those_that_share_together() -> None:
    slices = [run(str(number)) for number in range(SLICES)]
    assert Counter(item for ran in slices for item in ran) == Counter(CASES + NETS + TOGETHER)
    assert {sum(item in CASES for item in ran) for ran in slices} == {2, 3}
    assert {sum(item in TOGETHER for item in ran) for ran in slices} == {0, 3}
    assert run("only") == CASES + NETS + TOGETHER


def test_in_make_test_are_none_but_the_nets_whose_turn_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: Counter[Item] = Counter()
    for number in range(SLICES):
        monkeypatch.setattr(long, "turn", lambda now=number: now)
        short, *nets = run("none")
        assert (short, len(nets)) == (SHORT, 2)
        ran.update(nets)
    assert ran == Counter(NETS)


SAMPLE = """
import pytest

def test_short(): pass

@pytest.mark.long
@pytest.mark.parametrize("case", range(25))
def test_long(case): pass
"""


@pytest.mark.parametrize(
    ("options", "passed", "left_out"),
    [([], 26, None), (["--long=none"], 1, 25), (["--long=3", "-k", "7 or 10"], 1, 22), (["--long=only"], 25, None)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_run_says_what_it_leaves_out(tmp_path: Path, options: list[str], passed: int, left_out: int | None) -> None:
    """A choice by name leaves each case in its slice: 0, 10 and 20 are in this one, whatever else is chosen."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.long"]\n')
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout
    told = re.findall(r"^long tests that were not run: (\d+), of test_sample.py \(\1\)$", done.stdout, re.MULTILINE)
    assert told == ([] if left_out is None else [str(left_out)])
