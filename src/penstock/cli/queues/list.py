"""`penstock queues`: what waits and runs in each queue, and what is paused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import ago, fitted_table, plural, print_json, show, text
from penstock.cli.running.groups import is_for_subcommand
from penstock.cli.running.guard import guarded
from penstock.domain.clock import MICROSECONDS, from_us

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.domain.flow.pauses import Pause
    from penstock.observe.queues import Flow

REASON_CHARS_MAX = 60
# A narrow terminal goes without these, in this order; --json has them all.
SPARE = ("scheduled", "blocked", "by", "oldest", "why")

ByType = Annotated[bool, typer.Option("--type", help="Job types instead of queues.")]


@guarded
def list_queues(ctx: typer.Context, by_type: ByType = False, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """List the queues, pause, resume and drain them.

    By itself it lists what waits and runs in each, how long the oldest has waited, and what is paused by whom.

    \b
    penstock queues --store sqlite:///jobs.db
    penstock queues --type --json
    penstock queues pause mail --reason "the provider is down"
    """
    from penstock.domain.flow.pauses import Pauses
    from penstock.observe.queues import flows

    if is_for_subcommand(ctx):
        return
    kind = kind_of(by_type)
    with existing_store(store) as opened:
        pauses = Pauses(opened.list_pauses().wait())
        found = flows(kind, opened.count_open().wait(), pauses)
        now, address = opened.read_clock().wait(), opened.info.address
    if as_json:
        print_json({f"{kind}s": [_document(flow) for flow in found], "store": address})
    else:
        _show(kind, found, now, address)


def kind_of(by_type: bool) -> Any:
    return "type" if by_type else "queue"


def _document(flow: Flow) -> dict[str, Any]:
    import msgspec

    oldest = flow.oldest_due_at
    return {
        **{name: value for name, value in msgspec.to_builtins(flow).items() if name not in ("pause", "oldest_due_at")},
        "oldest_due_at": None if oldest is None else from_us(oldest),
        "paused": None if flow.pause is None else pause_document(flow.pause),
    }


def pause_document(pause: Pause) -> dict[str, Any]:
    return {"since": from_us(pause.since), "by": pause.actor, "reason": pause.reason}


def _show(kind: str, found: list[Flow], now: int, address: str) -> None:
    if not found:
        show(f"no job was ever enqueued in {address}: there is no {kind} yet")
        return
    paused = sum(flow.pause is not None for flow in found)
    told = f"{plural(len(found), kind)} in {address}" + (f", {paused} paused" if paused else "")
    show(fitted_table([_row(kind, flow, now) for flow in found], SPARE), told)


def _row(kind: str, flow: Flow, now: int) -> dict[str, Text]:
    from rich.text import Text

    def since(moment: int | None) -> str:
        return "-" if moment is None else ago(max(0.0, (now - moment) / MICROSECONDS))

    pause = flow.pause
    return {
        kind: text(flow.name),
        "pending": text(f"{flow.pending:,}"),
        "blocked": text(f"{flow.blocked:,}"),
        "scheduled": text(f"{flow.scheduled:,}"),
        "running": text(f"{flow.running:,}"),
        "oldest": text(since(flow.oldest_due_at)),
        "paused": Text(since(pause.since), style="yellow") if pause else text("-"),
        "by": text(pause.actor if pause else "-"),
        "why": text((pause and pause.reason) or "-", REASON_CHARS_MAX),
    }
