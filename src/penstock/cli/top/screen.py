"""What is shown of a look: the lines above the table, the table, and the same as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from penstock.cli.capacity import NOT_YET
from penstock.cli.output.tables import console, one_line, plural, text
from penstock.cli.top.cells import rate, table_of
from penstock.cli.top.view import HELP, View
from penstock.domain.clock import from_us
from penstock.observe.top.floods import floods
from penstock.observe.top.look import Look
from penstock.observe.top.order import ordered
from penstock.observe.top.rows import By, rows_by, summed
from penstock.observe.top.tenants import heavy
from penstock.observe.words import about

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

SENTENCES_MAX = 3
NOTHING: dict[By, str] = {
    "type": "no job was counted here yet",
    "queue": "no job was counted here yet",
    "tenant": "no job of a tenant has ended in this time",
    "worker": "no worker runs here; start one: penstock worker MODULE:APP",
}


class Trouble(msgspec.Struct, frozen=True):
    """The store does not answer: for how long, and what it has said, if anything."""

    seconds: float
    error: str | None


def is_live() -> bool:
    """Whether the terminal can be drawn on again and again."""
    out = console()
    return out.is_terminal and not out.is_dumb_terminal


def document(look: Look, view: View, address: str) -> dict[str, Any]:
    tenant = heavy(look)
    return {
        "by": view.by,
        "rows": [_document(row) for row in ordered(rows_by(look, view.by), view.by, view.sort)],
        "all": summed(look),
        "floods": [{**msgspec.structs.asdict(flood), "text": flood.text} for flood in floods(look)],
        "heavy_tenant": None if tenant is None else {**msgspec.structs.asdict(tenant), "text": tenant.text},
        "at": from_us(look.now),
        "since": from_us(look.since),
        "sampled_at": None if look.sample is None else from_us(look.sample.at),
        "store": address,
    }


def _document(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(row)
    return found


def printed(look: Look, view: View, address: str) -> list[RenderableType]:
    """All of it, for whoever looks once."""
    rows = ordered(rows_by(look, view.by), view.by, view.sort)
    return [
        table_of(rows, view.by) if rows else NOTHING[view.by],
        "",
        *sentences(look),
        f"{_whole(look)} in {address}, {_as_of(look, 0.0)}",
    ]


def page(
    look: Look, view: View, address: str, *, ago: float, size: tuple[int, int], trouble: Trouble | None = None
) -> list[RenderableType]:
    """As much of it as a screen of this width and height has room for. The look was `ago` seconds before."""
    width, height = size
    lines = [_title(look, view, address, ago), text(_whole(look))]
    if trouble is not None:
        lines.append(_told(trouble))
    if view.help:
        lines.append(text(HELP))
    for sentence in sentences(look)[:SENTENCES_MAX]:
        line = text(sentence)
        line.stylize("yellow")
        lines.append(line)
    head = [folded for line in lines for folded in line.wrap(console(), width)]
    return [*head, "", *_table(look, view, height - len(head) - 2)]


def _title(look: Look, view: View, address: str, ago: float) -> Text:
    from rich.text import Text

    paused = ("paused, " if view.paused else "", "yellow")
    what = text(f"by {view.by}, sorted by {view.sort}, {_as_of(look, ago)}; {address}; ? for help")
    return Text.assemble(("penstock top ", "bold"), paused, what)


def _table(look: Look, view: View, room: int) -> list[RenderableType]:
    rows = ordered(rows_by(look, view.by), view.by, view.sort)
    if not rows:
        return [text(NOTHING[view.by])]
    if len(rows) <= room:
        return [table_of(rows, view.by)]
    shown = max(1, room - 1)
    return [table_of(rows[:shown], view.by), text(f"{len(rows) - shown:,} more: penstock top --once --by {view.by}")]


def _whole(look: Look) -> str:
    whole = summed(look)
    return (
        f"{rate(whole.completed_per_second)} done/s, {rate(whole.failed_per_second)} failed/s, "
        f"{whole.pending:,} pending, {whole.scheduled:,} scheduled, {whole.running:,} running, "
        f"{plural(whole.slots, 'slot')} of {plural(whole.workers, 'worker')}"
    )


def _as_of(look: Look, ago: float) -> str:
    """How old what is shown is: what waits is counted by whoever leads, and rates are those of a time."""
    rates = f"rates of the last {about(look.seconds)}"
    return rates if look.sample_age is None else f"as of {about(look.sample_age + ago)} ago, {rates}"


def sentences(look: Look) -> list[str]:
    """What there is to say about it in words, and what to do where there is nothing to see."""
    tenant = heavy(look)
    said = [one_line(flood.text) for flood in floods(look)] + ([] if tenant is None else [one_line(tenant.text)])
    if look.sample is None:
        return [NOT_YET, *said]
    if look.uncounted:
        return ["nobody counts what waits any more: start a worker, or without one: penstock coordinator", *said]
    return said


def _told(trouble: Trouble) -> Text:
    from rich.text import Text

    why = text(f": {one_line(trouble.error)}" if trouble.error else "").plain
    return Text(f"the store has not answered for {about(trouble.seconds)}{why}; trying again", style="red")
