"""How things look: tables and texts for people, one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.cli.output.say import shortened

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

PLAIN_WIDTH = 1000
ID_WIDTH = 36
COLUMN_GAP = 2
UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
STATE_STYLES = {
    "pending": "cyan", "scheduled": "blue", "blocked": "yellow", "claimed": "magenta", "running": "magenta",
    "completed": "green", "dead": "red", "expired": "red", "cancelled": "yellow",
}  # fmt: skip


def console(*, stderr: bool = False) -> Console:
    """A console that never folds lines for programs, and leaves a closed pipe to the command's guard."""
    from rich.console import Console

    from penstock.observe.formats import colourful

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise  # it is called while BrokenPipeError is handled

        def render(self, renderable: Any, options: Any = None) -> Any:
            """Whatever is printed, in a table or not, steers nothing; text() also keeps its columns in line."""
            for part in super().render(renderable, options):
                yield part if part.control or part.text.isprintable() else part._replace(text=clean(part.text))

    stream = sys.stderr if stderr else sys.stdout
    return Terminal(
        file=stream,
        width=None if stream.isatty() else PLAIN_WIDTH,
        color_system="auto" if colourful(stream) else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_json(document: Any) -> None:
    import msgspec

    from penstock.observe.formats import json_text

    sys.stdout.write(json_text(msgspec.json.encode(document)) + "\n")


def show(*parts: RenderableType) -> None:
    """Print for people: tables and trees, and sentences about them."""
    out = console()
    for part in parts:
        if isinstance(part, str):
            out.print(shortened(part), soft_wrap=True)
        else:
            out.print(part)


def table(*columns: str) -> Table:
    """A table without lines whose ids are never folded. A column named `id` or `new id` holds ids."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name in columns:
        if name in ("id", "new id"):
            made.add_column(name, no_wrap=True, min_width=ID_WIDTH)
        else:
            made.add_column(name, no_wrap=True, overflow="ellipsis")
    return made


def fitted_table(rows: list[dict[str, Text]], spare: Sequence[str]) -> Table:
    """A table of these rows without the columns to spare, in their order, for which the terminal has no room."""
    widths = {name: max(len(name), *(row[name].cell_len for row in rows)) + COLUMN_GAP for name in rows[0]}
    for name in spare:
        if sum(widths.values()) > console().width:
            del widths[name]
    made = table(*widths)
    made.columns[0].min_width = next(iter(widths.values())) - COLUMN_GAP  # The first says which it is: never cut.
    for row in rows:
        made.add_row(*(row[name] for name in widths))
    return made


def state_text(state: str) -> Text:
    from rich.text import Text

    return Text(state, style=STATE_STYLES.get(state, ""))


def text(value: object, limit: int | None = None) -> Text:
    """Foreign text, made safe for a terminal: nothing in it moves the cursor, colours or folds."""
    from rich.text import Text

    return Text(clean(one_line(str(value), limit)))


def one_line(value: str, limit: int | None = None) -> str:
    line = " ".join(value.split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def clean(value: str) -> str:
    """Control characters in their escaped spelling; line breaks and tabs stay."""
    from penstock.observe.formats import printable

    return printable(value, keep="\n\t")


def moment(value: datetime | None) -> str:
    return "" if value is None else value.astimezone().isoformat(sep=" ", timespec="seconds")


def age(value: datetime | None) -> str:
    """How long ago, or in how long, in one unit: `3m ago`, `in 2h`."""
    return "" if value is None else ago((datetime.now(UTC) - value).total_seconds())


def ago(seconds: float) -> str:
    size, unit = next(found for found in UNITS if abs(seconds) >= found[0] or found[1] == "s")
    number = int(abs(seconds) // size)
    return f"{number}{unit} ago" if seconds >= 0 else f"in {number}{unit}"


def field(value: object) -> str:
    """What one thing has, where each has a line of its own."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{moment(value)} ({age(value)})"
        case tuple():
            return ", ".join(value) or "-"
        case _:
            return str(value)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
