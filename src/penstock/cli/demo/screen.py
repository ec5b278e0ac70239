"""How the tour looks: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import typer

from penstock.cli.counts import by_state
from penstock.cli.output import console, state_text, table

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live

    from penstock.store.params import Count

EVENTS_SHOWN = 12


class Screen(Protocol):
    def update(self, counts: list[Count], news: list[str]) -> None: ...


@contextmanager
def screen() -> Iterator[Screen]:
    out = console()
    if not out.is_terminal:
        yield Lines()
        return
    from rich.live import Live

    with Live(console=out, auto_refresh=False, transient=True) as live:
        yield LiveTable(live, out)


class Lines:
    """One line per event, with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def update(self, counts: list[Count], news: list[str]) -> None:
        for line in news:
            typer.echo(f"{time.monotonic() - self._started:5.1f} s  {line}")


class LiveTable:
    """Counts by state and the last events, drawn in place."""

    def __init__(self, live: Live, out: Console) -> None:
        self._live = live
        self._out = out
        self._events: deque[str] = deque(maxlen=EVENTS_SHOWN)

    def update(self, counts: list[Count], news: list[str]) -> None:
        self._events.extend(line[: self._out.width - 2] for line in news)
        self._live.update(self._drawn(counts), refresh=True)

    def _drawn(self, counts: list[Count]) -> Group:
        from rich.console import Group
        from rich.text import Text

        made = table("state", "jobs", "")
        for state, jobs in by_state(counts).items():
            if state != "blocked":
                made.add_row(state_text(state), str(jobs), Text("█" * min(jobs, 40), style=state_text(state).style))
        return Group(made, Text(), *(Text(f"  {line}") for line in self._events))
