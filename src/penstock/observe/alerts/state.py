"""When an alert begins, fires and is over. Pure: rows and breaches in, the rows that change out.

    breach ──▶ pending ──so for long enough──▶ firing ──quiet for long enough──▶ resolved
                  └──────quiet──────▶ resolved              ▲  breach again, as another occurrence: pending

One that fires stays the same until it is resolved, however often it is seen meanwhile. What comes and goes is resolved
ever more slowly. Moments in the future are of a clock that was set back since: they count from now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.ids import id_from
from penstock.observe.alerts.catalogue import HELD_BACK, OTHERS, RULES
from penstock.observe.alerts.facts import Breach
from penstock.store.contract import AlertRow

QUIET_SECONDS = 60.0
QUIET_DOUBLINGS_MAX = 4
SCOPES_MAX = 50
"""So many alerts of one rule fire at once; what is beyond is one more."""
HOUR = 3600 * MICROSECONDS

Key = tuple[str, str]
"""A rule and a scope."""


def advance(
    rule: str, rows: Iterable[AlertRow], breaches: Sequence[Breach], hold: float, now: int
) -> dict[Key, AlertRow]:
    """Those rows of a rule that are others now."""
    known = {row.scope: row for row in rows if row.rule == rule}
    wrong = {breach.scope: breach for breach in _bounded(breaches, known)}
    changed: dict[Key, AlertRow] = {}
    for scope in {**known, **wrong}:
        before = known.get(scope)
        after = _next(rule, before, wrong.get(scope), round(hold * MICROSECONDS), now)
        if after is not None and after != before:
            changed[rule, scope] = after
    return changed


def _next(rule: str, row: AlertRow | None, breach: Breach | None, hold: int, now: int) -> AlertRow | None:
    if breach is not None and (row is None or row.state == "resolved"):
        return _held(_begin(rule, row, breach, now), hold, now)
    if row is None or row.state == "resolved":
        return row
    since = min(row.since, now)
    row = msgspec.structs.replace(row, since=since) if since != row.since else row
    if breach is not None:
        return _held(msgspec.structs.replace(_described(row, breach), quiet_at=None), hold, now)
    return _quiet(row, now)


def _begin(rule: str, row: AlertRow | None, breach: Breach, now: int) -> AlertRow:
    """An occurrence of its own. Whoever sees it begin at this moment gives it the same key."""
    return AlertRow(
        rule=rule, scope=breach.scope, state="pending", severity=RULES[rule].severity,
        key=id_from(now, rule, breach.scope), since=now, value=breach.value, title=breach.title, message=breach.message,
        tags=breach.tags, sent=() if row is None else recent(row, now), revision=0 if row is None else row.revision,
    )  # fmt: skip


def _described(row: AlertRow, breach: Breach) -> AlertRow:
    """What is pending is told as it is when it fires; how many were held back, when that is over."""
    if row.state == "firing" and row.rule != HELD_BACK:
        return row
    told = {"value": breach.value, "title": breach.title, "message": breach.message, "tags": breach.tags}
    return msgspec.structs.replace(row, **told)


def _held(row: AlertRow, hold: int, now: int) -> AlertRow:
    if row.state == "pending" and now - row.since >= hold:
        return msgspec.structs.replace(row, state="firing", fired_at=now)
    return row


def _quiet(row: AlertRow, now: int) -> AlertRow:
    if row.state == "pending":
        return msgspec.structs.replace(row, state="resolved", resolved_at=now)
    if row.quiet_at is None or row.quiet_at > now:
        return msgspec.structs.replace(row, quiet_at=now)
    if now - row.quiet_at < quiet_seconds(row, now) * MICROSECONDS:
        return row
    return msgspec.structs.replace(row, state="resolved", resolved_at=now)


def quiet_seconds(row: AlertRow, now: int) -> float:
    """For how long its cause must be gone: twice as long for each time that it was told in this hour before."""
    return QUIET_SECONDS * 2.0 ** min(max(0, len(recent(row, now)) - 1), QUIET_DOUBLINGS_MAX)


def recent(row: AlertRow, now: int) -> tuple[int, ...]:
    """When it was told that it fires, within the last hour."""
    return tuple(moment for moment in row.sent if now - HOUR < moment <= now)


def _bounded(breaches: Sequence[Breach], known: Mapping[str, AlertRow]) -> list[Breach]:
    """Those that fire already first, so that they are not taken for resolved; then the worst."""
    if len(breaches) <= SCOPES_MAX:
        return list(breaches)

    def order(breach: Breach) -> tuple[bool, float]:
        row = known.get(breach.scope)
        return row is None or row.state == "resolved", -(breach.value or 0.0)

    first, *more = sorted(breaches, key=order)[SCOPES_MAX - 1 :]
    others = replace(
        first, scope=OTHERS, title=f"{first.title}, and more", value=float(1 + len(more)), tags={},
        message=f"{first.message}; and {len(more):,} more like it",
    )  # fmt: skip
    return [*sorted(breaches, key=order)[: SCOPES_MAX - 1], others]
