"""`penstock alerts list`: what fires, who was told, and what is silenced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import ago, fitted_table, plural, print_json, show, text
from penstock.cli.running.guard import guarded
from penstock.domain.clock import MICROSECONDS, from_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from penstock.store.contract import AlertPage, AlertRow, Silence

SEVERITY_STYLES = {"info": "blue", "warning": "yellow", "high": "red", "critical": "bold red"}
MESSAGE_CHARS_MAX = 120
# A narrow terminal goes without these, in this order; --json has them all.
SPARE = ("message", "told", "since")


@guarded
def list_alerts(
    every: Annotated[bool, typer.Option("--all", help="Also those that are pending, and those that are over.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List the alerts that fire, with who was told, and what is silenced; and whether nobody looks for them.

    Those that are over are kept for a week: --all shows them.

    \b
    penstock alerts list --store sqlite:///jobs.db
    penstock alerts list --all --json
    """
    from penstock.observe.alerts.looked import unseen

    with existing_store(store) as opened:
        page, sample, address = opened.read_alerts().wait(), opened.read_sample().wait(), opened.info.address
    rows = [row for row in page.alerts if every or row.state == "firing"]
    silences = [one for one in page.silences if page.now < one.until]
    if as_json:
        documents = {
            "alerts": [_document(row) for row in rows],
            "silences": [silence_document(one) for one in silences],
        }
        print_json({**documents, "looked_at": sample and from_us(sample.at), "store": address})
    else:
        _show(rows, silences, page, address, unseen(sample, page.now))


def _document(row: AlertRow) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(row)
    moments = ("since", "fired_at", "quiet_at", "resolved_at")
    kept = {name: value for name, value in found.items() if name not in ("sent", "revision")}
    told = {sink: {name: value for name, value in one.items() if name != "at"} for sink, one in found["told"].items()}
    return kept | {"told": told} | {name: found[name] and from_us(found[name]) for name in moments}


def silence_document(silence: Silence) -> dict[str, Any]:
    return {
        "rule": silence.rule, "scope": silence.scope, "since": from_us(silence.since), "until": from_us(silence.until),
        "by": silence.actor, "reason": silence.reason,
    }  # fmt: skip


def _show(
    rows: Sequence[AlertRow], silences: Sequence[Silence], page: AlertPage, address: str, unseen: str | None
) -> None:
    from penstock.observe.alerts.looked import LOOK

    if rows:
        show(fitted_table([_row(row, page) for row in rows], SPARE))
    for one in silences:
        show(f"silenced: {told_silence(one, page.now)}")
    firing = sum(row.state == "firing" for row in rows)
    if firing:
        show(f"{plural(firing, 'alert')} firing in {address}")
    elif unseen is None:
        show(f"nothing fires in {address}")
    else:
        show(f"nothing is known to fire in {address}")
    if unseen is not None:
        show(f"{unseen}: {LOOK}")


def _row(row: AlertRow, page: AlertPage) -> dict[str, Text]:
    from rich.text import Text

    return {
        "rule": text(row.rule),
        "scope": text(row.scope),
        "severity": Text(row.severity, style=SEVERITY_STYLES[row.severity]),
        "state": text(row.state),
        "since": text(ago(max(0.0, (page.now - row.since) / MICROSECONDS))),
        "told": text(_told(row, page)),
        "message": text(row.message, MESSAGE_CHARS_MAX),
    }


def _told(row: AlertRow, page: AlertPage) -> str:
    """Whom, and who could not be."""
    if not row.told:
        return "silenced" if any(one.holds(row.rule, row.scope, page.now) for one in page.silences) else "nobody"
    return ", ".join(name if one.arrived else f"not {name}" for name, one in row.told.items())


def told_silence(silence: Silence, now: int) -> str:
    """`final_failure for mail, by ann@host: known; over in 2h`."""
    scope = f" for {silence.scope}" if silence.scope is not None else ""
    reason = f": {silence.reason}" if silence.reason else ""
    left = ago(-max(0.0, (silence.until - now) / MICROSECONDS))
    return f"{silence.rule}{scope}, by {silence.actor}{reason}; over {left}"
