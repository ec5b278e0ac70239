"""How far something is, as a bar on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.cli.output.tables import console

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Progress]:
    """A bar on the terminal, of which nobody knows the end if there is no total; stdout stays clean for the answer."""
    from rich.progress import Progress

    out = console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        bar.add_task(label, total=total)
        yield bar
