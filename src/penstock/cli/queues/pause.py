"""`penstock queues pause` and `resume`: no worker anywhere is given jobs of them, until they are resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.actor import whoami
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.say import say
from penstock.cli.output.tables import age, clean, one_line, print_json
from penstock.cli.queues.list import ByType, kind_of, pause_document
from penstock.cli.running.guard import guarded
from penstock.domain.clock import from_us

if TYPE_CHECKING:
    from penstock.domain.flow.pauses import Pause
    from penstock.store.contract import Switched

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The queues.", show_default=False)]


@guarded
def pause_queues(
    names: Names,
    by_type: ByType = False,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for your colleagues.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also one that the store has never seen.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Pause queues: no worker is given their jobs until they are resumed.

    It holds at once and everywhere. What runs goes on. What waits keeps its place, and new jobs can be enqueued; a
    time-to-live goes on running out. Pausing again changes nothing.

    \b
    penstock queues pause mail --reason "the provider is down"
    penstock queues pause send_email --type
    penstock queues pause imports --force
    """
    from penstock.store.contract import PauseWork

    kind = kind_of(by_type)
    with existing_store(store) as opened:
        asked = PauseWork(kind=kind, names=tuple(names), actor=whoami(), reason=reason, force=force)
        done = opened.pause_work(asked).wait()
    if as_json:
        _print_json("paused", done)
        return
    for one in done:
        resume = f"penstock queues resume {one.name}{' --type' if by_type else ''}"
        if one.changed:
            say(f"{kind} {one.name!r} is paused: what runs goes on, what waits stays; to go on: {resume}")
        elif one.pause is not None:
            say(f"{kind} {one.name!r} was paused before, {_told(one.pause)}; nothing was changed")


@guarded
def resume_queues(names: Names, by_type: ByType = False, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Resume paused queues: the workers that wait are woken at once.

    \b
    penstock queues resume mail
    penstock queues resume send_email --type
    """
    from penstock.store.contract import ResumeWork

    kind = kind_of(by_type)
    with existing_store(store) as opened:
        done = opened.resume_work(ResumeWork(kind=kind, names=tuple(names), actor=whoami())).wait()
    if as_json:
        _print_json("resumed", done)
        return
    for one in done:
        ended = f"goes on; it was paused {_told(one.pause)}" if one.pause is not None else "was not paused"
        say(f"{kind} {one.name!r} {ended}")


def _told(pause: Pause) -> str:
    """`3m ago by ann@host: why`, for a sentence."""
    reason = f": {pause.reason}" if pause.reason else ""
    return clean(one_line(f"{age(from_us(pause.since))} by {pause.actor}{reason}"))


def _print_json(key: str, done: list[Switched]) -> None:

    def document(one: Switched) -> dict[str, Any]:
        facts = pause_document(one.pause) if one.pause is not None else {}
        return {"name": one.name, "changed": one.changed, **facts}

    print_json({key: [document(one) for one in done]})
