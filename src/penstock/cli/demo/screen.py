"""How a scene looks: a live table of its jobs on a terminal, a line per event elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from penstock.cli.demo.events import Events, about, word
from penstock.cli.output.say import say
from penstock.cli.output.tables import console, show, state_text, table, text
from penstock.domain.job import FINAL, Job

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

BAR_WIDTH = 24


class Screen(Protocol):
    def update(self, jobs: Sequence[Job]) -> None: ...
    def say(self, line: str) -> None: ...


@contextmanager
def screen(began: float) -> Iterator[Screen]:
    """For the length of a scene. On a terminal its last picture stays."""
    out = console()
    if not out.is_terminal:
        yield PlainLines(began)
        return
    from rich.live import Live

    with Live(console=out, auto_refresh=False) as live:
        yield LiveTable(live)


def announce(place: str, title: str, says: str) -> None:
    """The heading of a scene."""
    from rich.text import Text

    show("", Text.assemble(f"{place}  ", (f"{title}: ", "bold"), says))


class PlainLines:
    """One line per event, with the seconds since the start of the tour."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._events = Events()

    def update(self, jobs: Sequence[Job]) -> None:
        for line in self._events.news(jobs):
            self.say(line)

    def say(self, line: str) -> None:
        say(f"{time.monotonic() - self._began:5.1f} s  {line}")


class LiveTable:
    """The jobs of the scene, drawn in place, and what was said about them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._said: list[str] = []
        self._jobs: Sequence[Job] = ()

    def update(self, jobs: Sequence[Job]) -> None:
        from rich.console import Group
        from rich.text import Text

        self._jobs = jobs
        self._live.update(Group(_rows(jobs), *(Text(f"  {line}", style="bold") for line in self._said)), refresh=True)

    def say(self, line: str) -> None:
        self._said.append(line)
        self.update(self._jobs)


def _rows(jobs: Sequence[Job]) -> Table:
    from rich.text import Text

    made = table("", "", "", "", "")
    made.show_header = False
    for job in jobs:
        tries = f"attempt {job.attempt}" if job.attempt > 1 else ""
        made.add_row(Text(f"  {job.type}"), text(about(job), 20), state_text(job.state), tries, _last(job))
    return made


def _last(job: Job) -> Text:
    """A bar while it runs and says how far it is; otherwise what it said last."""
    from rich.text import Text

    percent = job.progress.percent if job.progress else None
    if job.state in FINAL or percent is None:
        return text(word(job), 70)
    full = round(BAR_WIDTH * min(percent, 100) / 100)
    phase = job.progress.phase if job.progress and job.progress.phase else ""
    return Text.assemble(
        ("█" * full, "green"), ("░" * (BAR_WIDTH - full), "dim"), f" {percent:3.0f} %  ", text(phase, 30)
    )
