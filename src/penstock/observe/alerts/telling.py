"""Who is still to be told what. Pure: rows, silences and sinks in, what is to be sent out.

What is to be sent is noted in the row before it is sent, and that it arrived afterwards. So whoever takes over in
between sends it once more, with the same key, and never not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.observe.alerts.catalogue import HELD_BACK, STORE
from penstock.observe.alerts.facts import Breach
from penstock.observe.alerts.state import recent
from penstock.observe.words import counted
from penstock.store.contract import AlertRow, Severity, Silence, Told

TRIED_SECONDS = 24 * 3600
"""For so long it is tried to tell somebody, from when it fired or was resolved."""
AGAIN_SECONDS = 60
"""So long it is left to whoever has taken it upon himself."""
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "warning", "info")
"""Which are told first."""


class Telling(NamedTuple):
    """What is to be sent to these sinks. The row says so already."""

    row: AlertRow
    sinks: tuple[str, ...]

    @property
    def says(self) -> Literal["firing", "resolved"]:
        return "resolved" if self.row.state == "resolved" else "firing"


class Tellings(NamedTuple):
    """`held`: those that would be told, if not so many were told in this hour."""

    tell: list[Telling]
    held: list[AlertRow]


def untold(
    rows: Iterable[AlertRow], silences: Sequence[Silence], sinks: Collection[str], cap: int | None, now: int
) -> Tellings:
    rows = sorted(rows, key=lambda row: (SEVERITIES.index(row.severity), row.fired_at or row.since))
    left = None if cap is None else cap - sum(len(recent(row, now)) for row in rows if _counts(row))
    found = Tellings([], [])
    for row in rows:
        waiting = tuple(sink for sink in sinks if _waits(row, sink, now))
        if not waiting or (row.state == "firing" and _is_silenced(row, silences, now)):
            continue
        if row.state == "firing" and not row.told and _counts(row) and left is not None:
            if left <= 0:
                found.held.append(row)
                continue
            left -= 1
        found.tell.append(Telling(_noted(row, waiting, now), waiting))
    return found


def _counts(row: AlertRow) -> bool:
    """Whether it counts among those of an hour. What is critical is always told, and so is that others are not."""
    return row.severity != "critical" and row.rule != HELD_BACK


def _waits(row: AlertRow, sink: str, now: int) -> bool:
    told = row.told.get(sink)
    if row.state == "firing":
        return told is None or not (told.arrived or told.given_up)
    if row.state != "resolved" or told is None:
        return False  # Who was never told that it fires has nothing to hear of its end.
    return told.sent == "firing" or not (told.arrived or told.given_up)


def _is_silenced(row: AlertRow, silences: Sequence[Silence], now: int) -> bool:
    return any(silence.holds(row.rule, row.scope, now) for silence in silences)


def _noted(row: AlertRow, sinks: Iterable[str], now: int) -> AlertRow:
    says: Literal["firing", "resolved"] = "resolved" if row.state == "resolved" else "firing"
    new = {sink: told for sink in sinks if (told := _taken(row.told.get(sink), says, now)) is not None}
    first = row.state == "firing" and not row.told
    sent = (*recent(row, now), now) if first else row.sent
    return msgspec.structs.replace(row, told={**row.told, **new}, sent=sent) if new or first else row


def _taken(told: Told | None, says: Literal["firing", "resolved"], now: int) -> Told | None:
    """As it is noted by who sends it now; None where it is noted well enough."""
    if told is None or told.sent != says:
        return Told(sent=says, at=now)
    return None if 0 <= now - told.at < AGAIN_SECONDS * MICROSECONDS else msgspec.structs.replace(told, at=now)


def heard(row: AlertRow, answers: Mapping[str, str | None], now: int) -> AlertRow:
    """The row with what became of what was sent: why it failed, or None where it arrived."""
    since = row.resolved_at if row.state == "resolved" else row.fired_at
    late = since is not None and now - since > TRIED_SECONDS * MICROSECONDS
    told = dict(row.told)
    for sink, error in answers.items():
        given_up = error is not None and late
        told[sink] = msgspec.structs.replace(told[sink], arrived=error is None, error=error, given_up=given_up)
    return msgspec.structs.replace(row, told=told)


def held_back(held: Sequence[AlertRow], before: AlertRow | None, cap: int | None) -> list[Breach]:
    """That alerts were not told, as an alert: with how many, and how many it were at most."""
    if not held:
        return []
    most = max(len(held), 0 if before is None or before.state == "resolved" else int(before.value or 0))
    rules = ", ".join(sorted({row.rule for row in held}))
    return [Breach(
        scope=STORE, value=most, title="Alerts were held back",
        message=f"{counted(most, 'alert')} held back, of {rules}: no more than {cap} are told in an hour, and they are "
        "told when there is room; see them with: penstock alerts list",
    )]  # fmt: skip
