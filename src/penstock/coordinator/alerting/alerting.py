"""From what is wrong to what is told: the rows that change are stored, then sent, then it is stored that they arrived.

Of an alert that is to be sent, this is stored first, with its key. A leader that is killed after that, or before it has
stored that it arrived, leaves it to the next one, which sends it once more with the same key: a receiver can tell. Of
two who find the same at once the store takes one, and the other sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from penstock.coordinator.alerting.sending import Answers, Sending
from penstock.domain.clock import MICROSECONDS
from penstock.observe.alerts.catalogue import HELD_BACK
from penstock.observe.alerts.facts import Breach
from penstock.observe.alerts.rules import Breaches
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.alerts.state import Key, advance
from penstock.observe.alerts.telling import Telling, heard, held_back, untold
from penstock.observe.words import about
from penstock.outbound.message import AlertMessage
from penstock.store.contract import AlertChange, AlertPage, AlertRow, ChangeAlerts, Store

NOTE_TRIES = 5
"""What is not stored by then is sent once more."""


class Alerting:
    def __init__(self, store: Store, settings: AlertSettings, sending: Sending) -> None:
        self._store = store
        self._settings = settings
        self.sending = sending

    async def settle(self, page: AlertPage, found: Mapping[str, Breaches], term: int | None) -> None:
        """Store and tell what follows from these breaches. Rules that are not named, or cannot tell, stay as they are;
        so does what is to be told of those that are not named.
        """
        before = {(row.rule, row.scope): row for row in page.alerts}
        changed: dict[Key, AlertRow] = {}
        for rule, breaches in found.items():
            if breaches is not None:
                changed |= self._advance(rule, before.values(), breaches, page.now)
        rows = {key: row for key, row in (before | changed).items() if key[0] in found}
        told, held = self._untold(rows.values(), page)
        if term is not None:  # Who only sees that nobody leads does not see all.
            changed |= self._hold_back(before, held, page.now)
            told += self._untold([row for key, row in (before | changed).items() if key[0] == HELD_BACK], page)[0]
        await self._tell(before, changed, told, page.now, term)

    def _advance(self, rule: str, rows: Iterable[AlertRow], found: Sequence[Breach], now: int) -> dict[Key, AlertRow]:
        return advance(rule, rows, found, self._settings.rule(rule).hold, now)

    def _untold(self, rows: Iterable[AlertRow], page: AlertPage) -> tuple[list[Telling], list[AlertRow]]:
        found = untold(rows, page.silences, self.sending.free, self._settings.cap_per_hour, page.now)
        return found.tell, found.held

    def _hold_back(self, before: Mapping[Key, AlertRow], held: Sequence[AlertRow], now: int) -> dict[Key, AlertRow]:
        rows = [row for row in before.values() if row.rule == HELD_BACK]
        found = held_back(held, rows[0] if rows else None, self._settings.cap_per_hour)
        return self._advance(HELD_BACK, rows, found if self._settings.rule(HELD_BACK).on else (), now)

    async def _tell(
        self, before: Mapping[Key, AlertRow], changed: dict[Key, AlertRow], told: Sequence[Telling], now: int,
        term: int | None,
    ) -> None:  # fmt: skip
        noted = {(one.row.rule, one.row.scope): one.row for one in told}
        wanted = {key: row for key, row in (changed | noted).items() if row != before.get(key)}
        stored = await self._store_rows(wanted.values(), before, term)
        # What another has changed meanwhile is the other's to tell. Who leads sends again what was noted before.
        known = {**before} | {key: _stored(row) for key, row in wanted.items() if key in stored}
        again = {key for key, row in noted.items() if row == before.get(key)} if term is not None else set()
        await self._send([one for one in told if (one.row.rule, one.row.scope) in stored | again], known, now, term)

    async def _store_rows(self, rows: Iterable[AlertRow], before: Mapping[Key, AlertRow], term: int | None) -> set[Key]:
        revisions = {key: row.revision for key, row in before.items()}
        changes = [AlertChange(row, revisions.get((row.rule, row.scope))) for row in rows]
        return set(await self._store.change_alerts(ChangeAlerts(changes, term))) if changes else set()

    async def _send(self, told: Sequence[Telling], known: dict[Key, AlertRow], now: int, term: int | None) -> None:
        """And store what each sink has heard, without waiting for the others."""
        queues: dict[str, list[Telling]] = {}
        for one in told:
            for sink in one.sinks:
                queues.setdefault(sink, []).append(one)

        async def note(sink: str, answers: Answers) -> None:
            found = [(queues[sink][number], why) for number, why in answers.items()]
            await self._note(sink, found, known, now, term)

        await self.sending.send({sink: [message_of(one, now) for one in queue] for sink, queue in queues.items()}, note)

    async def _note(
        self, sink: str, answers: Sequence[tuple[Telling, str | None]], known: dict[Key, AlertRow], now: int,
        term: int | None,
    ) -> None:  # fmt: skip
        """Rows that have changed since, by another sink or by a later round, are read again."""
        for _ in range(NOTE_TRIES):
            after = {_key(one.row): _answered(known.get(_key(one.row)), one, sink, why, now) for one, why in answers}
            changed = {key: row for key, row in after.items() if row is not None and row != known[key]}
            stored = await self._store_rows(changed.values(), known, term)
            known |= {key: _stored(changed[key]) for key in stored}
            if len(stored) == len(changed):
                return
            page = await self._store.read_alerts()
            known |= {_key(row): row for row in page.alerts}


def message_of(telling: Telling, now: int) -> AlertMessage:
    row, message = telling.row, telling.row.message
    if telling.says == "resolved":
        lasted = about(max(0, (row.resolved_at or now) - row.since) / MICROSECONDS)
        message = f"over after {lasted}; it was: {message}"
    return AlertMessage(
        rule=row.rule, scope=row.scope, severity=row.severity, state=telling.says, title=row.title, message=message,
        since_us=row.since, at_us=now, key=row.key, tags=row.tags, value=row.value,
    )  # fmt: skip


def _answered(row: AlertRow | None, sent: Telling, sink: str, why: str | None, now: int) -> AlertRow | None:
    """The row with that; None if it is about something else by now, or has arrived otherwise."""
    told = None if row is None or row.key != sent.row.key else row.told.get(sink)
    if row is None or told is None or told.sent != sent.says or told.arrived:
        return None
    return heard(row, {sink: why}, now)


def _key(row: AlertRow) -> Key:
    return row.rule, row.scope


def _stored(row: AlertRow) -> AlertRow:
    return msgspec.structs.replace(row, revision=row.revision + 1)
