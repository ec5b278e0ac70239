"""The way of one job in ARCHITECTURE is the way it goes: on each engine the functions are entered in that order."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import penstock
from penstock import App
from tests.docs.pages import ROOT
from tests.postgres.server import shared

SOURCE = Path(penstock.__file__).parent
ENGINES = ("sqlite", "postgres")


def section() -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    return text.partition("## The way of one job\n")[2].partition("\n## ")[0]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def steps(engine: int) -> Iterator[tuple[str, str]]:
    """The files and functions of an engine's column; where there is one column, it is that of both."""
    for row in re.findall(r"^\|.+\|$", section(), re.MULTILINE):
        first, *columns = cells(row)
        files = re.findall(r"`([\w/]+\.py)`", first)
        if files and (column := columns[min(engine, len(columns) - 1)]):
            for name in re.findall(r"`([\w.]+)`", column):
                if not name.endswith(".sql"):
                    yield "|".join(files), name


@contextmanager
def walked() -> Iterator[list[tuple[str, str]]]:
    """All functions of penstock that are entered in the block, in any thread that begins there."""
    found: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            found.append((code.co_filename.removeprefix(f"{SOURCE}/"), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


@pytest.fixture(params=range(len(ENGINES)), ids=ENGINES)
def engine(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def address(engine: int, tmp_path: Path) -> str:
    return shared(18).url(schema="the_way") if ENGINES[engine] == "postgres" else f"sqlite:///{tmp_path}/jobs.db"


def test_a_job_goes_the_way_that_is_written(engine: int, address: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.job"), walked() as found, App(address) as app:

        @app.job
        async def send_email(to: str) -> None: ...

        job = send_email.enqueue("a@b.c")
        asyncio.run(app.run_worker(burst=True))
        assert job.state() == "completed"
    written = list(steps(engine))
    assert len(written) > 25
    place = 0
    for files, name in written:
        there = (
            number
            for number, (file, entered) in enumerate(found[place:], place)
            if entered == name and file.endswith(tuple(files.split("|")))
        )
        at = next(there, None)
        assert at is not None, f"{files} {name} was not entered after {found[place - 1] if place else 'the beginning'}"
        place = at + 1


def test_the_statements_that_are_named_are_there() -> None:
    for name in re.findall(r"`(\w+\.sql)`", section()):
        assert list(SOURCE.rglob(name)), name
