"""Which of the long tests a run takes: `make test` is to be short, and nothing is dropped for it.

`@pytest.mark.long` is for what is long and rare: it runs in `make test-long` only. `@pytest.mark.turns` is for nets, of
which there is always more to run: a tenth of them is in `make test` too, another one with each commit. Both are dealt
into ten slices, case by case; those that share something dear name it, `long("seeds")`, and stay together. CI runs
`make test` and one slice of the rest, so that ten commits run everything.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

SLICES = 10
ROOT = Path(__file__).parent.parent
NOT_RUN = "long tests that were not run"

_left_out: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", default="all", choices=["all", "none", "only", *map(str, range(SLICES))],
        help="all tests (default), none of the long ones, only the long ones, or one slice of them",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long(together): runs in `make test-long`, and in CI every tenth time")
    config.addinivalue_line("markers", "turns(together): long, and a tenth of them also in `make test`, by turns")


@pytest.hookimpl(tryfirst=True)  # Before -k: a case stays in its slice, whatever else is chosen.
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    which = config.getoption("--long")
    if which == "all":
        return
    slices = deal(items)
    left_out = [item for item in items if not is_wanted(which, slices.get(item), by_turns=is_by_turns(item))]
    _left_out.update(item.nodeid.partition("::")[0] for item in left_out if item in slices)
    items[:] = [item for item in items if item not in set(left_out)]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _left_out:
        files = ", ".join(f"{file} ({number})" for file, number in sorted(_left_out.items()))
        terminalreporter.line(f"{NOT_RUN}: {_left_out.total()}, of {files}")


def deal(items: list[pytest.Item]) -> dict[pytest.Item, int]:
    """The slice of each long test. The cases of one function go round, so that no slice has all of them."""
    dealt: dict[pytest.Item, int] = {}
    seen: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("long") or item.get_closest_marker("turns")
        if mark is None:
            continue
        name = mark.args[0] if mark.args else item.nodeid.partition("[")[0]
        dealt[item] = (zlib.crc32(name.encode()) + seen[name]) % SLICES
        seen[name] += not mark.args
    return dealt


def is_wanted(which: str, of_slice: int | None, *, by_turns: bool) -> bool:
    if of_slice is None:
        return which == "none"
    if which == "none":
        return by_turns and of_slice == turn()
    return which in ("only", str(of_slice))


def is_by_turns(item: pytest.Item) -> bool:
    return item.get_closest_marker("turns") is not None


@cache
def turn() -> int:
    """Which slice of the nets `make test` runs: the next one with each commit."""
    return commits() % SLICES


@cache
def commits() -> int:
    """How many there are: new seeds with each of them. TESTED_COMMITS repeats what another checkout has run."""
    told = os.environ.get("TESTED_COMMITS")
    if told is not None:
        return int(told)
    asked = ["git", "rev-list", "--count", "HEAD"]
    counted = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return int(counted.stdout) if counted.returncode == 0 else 0
