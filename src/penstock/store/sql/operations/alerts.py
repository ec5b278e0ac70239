"""Alerts and silences as they are kept, and the small looks that rules need beside the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.job import ErrorInfo
from penstock.domain.options import decode_policy
from penstock.store import contract as p
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.operations.term import check_term
from penstock.store.sql.steps import Steps, as_json, run, value
from penstock.store.sql.unreadable import BY_HAND, UNREADABLE, part, tell_unreadable_job, why_unreadable

EVERY_SCOPE = ""
ALERT_COLUMNS = p.AlertRow.__struct_fields__
JSON_COLUMNS = {
    "tags": msgspec.json.Decoder(dict[str, str]).decode,
    "told": msgspec.json.Decoder(dict[str, p.Told]).decode,
    "sent": msgspec.json.Decoder(tuple[int, ...]).decode,
}

_error = msgspec.json.Decoder(ErrorInfo).decode
_of_rule = attrgetter("row.rule", "row.scope")


# Alerts


def read_alerts() -> Steps[p.AlertPage]:
    [(now, *_)] = yield from run("read_clock")
    alerts = [_alert(row) for row in (yield from run("read_alerts", limit=p.ALERTS_READ_MAX))]
    silences = [_silence(*row) for row in (yield from run("read_silences"))]
    return p.AlertPage(alerts, silences, now)


def _alert(columns: Sequence[Any]) -> p.AlertRow:
    found = dict(zip(ALERT_COLUMNS, columns, strict=True))
    which = f"{found['rule']} {found['scope']}"
    for name, decode in JSON_COLUMNS.items():
        found[name] = _read(decode, found[name], f"{name} of the alert {which}")
    return p.AlertRow(**found)


def _read(decode: Callable[[str], Any], text: str, what: str) -> Any:
    """Told once too often is better than never."""
    try:
        return decode(text)
    except UNREADABLE as error:
        tell_unreadable_job(f"the {what} cannot be read ({why_unreadable(error)}): {BY_HAND}")
        return () if what.startswith("sent") else {}


def change_alerts(change: p.ChangeAlerts) -> Steps[list[tuple[str, str]]]:
    """One after the other in one order, so that no two who change several wait for each other."""
    yield from check_term(change.term)
    stored: list[tuple[str, str]] = []
    for one in sorted(change.changes, key=_of_rule):
        stored += yield from _store(one)
    age = round(change.forget_seconds * MICROSECONDS)
    yield from run("forget_alerts", age=age)
    yield from run("forget_silences", age=age)
    return stored


def _store(change: p.AlertChange) -> Steps[list[tuple[str, str]]]:
    columns = _columns(change.row)
    del columns["revision"]
    if change.revision is None:
        rows = yield from run("insert_alert", **columns)
    else:
        rows = yield from run("update_alert", **columns, revision=change.revision)
    return [(rule, scope) for rule, scope in rows]


def _columns(row: p.AlertRow) -> dict[str, Any]:
    columns: dict[str, Any] = msgspec.structs.asdict(row)
    columns |= {name: as_json(columns[name]) for name in JSON_COLUMNS}
    return columns | {"value": None if row.value is None else repr(row.value)}  # Each engine makes a number of it.


# Silences


def silence_alerts(silence: p.SilenceAlerts) -> Steps[p.Silence | None]:
    which = {"rule": silence.rule, "scope": silence.scope or EVERY_SCOPE}
    if silence.seconds is None:
        found = yield from run("delete_silence", **which)
    else:
        lasts = round(silence.seconds * MICROSECONDS)
        found = yield from run("put_silence", **which, lasts=lasts, actor=silence.actor, reason=silence.reason)
    if not found:
        return None
    detail = {**which, "seconds": silence.seconds, "reason": silence.reason}
    yield from audit(silence.actor, "unsilence" if silence.seconds is None else "silence", detail)
    return _silence(*found[0])


def _silence(rule: str, scope: str, since: int, until: int, actor: str, reason: str | None) -> p.Silence:
    return p.Silence(rule=rule, scope=scope or None, since=since, until=until, actor=actor, reason=reason)


# Looks


def read_signs(read: p.ReadSigns) -> Steps[p.Signs]:
    dead = yield from run("newest_dead", since=read.dead_since, limit=read.limit)
    age, looked_at = round(read.unstarted_seconds * MICROSECONDS), p.LEASES_LOOKED_AT_MAX
    unstarted = yield from run("oldest_unstarted", age=age, looked_at=looked_at)
    runs = yield from run("longest_runs", looked_at=looked_at, limit=p.RUNS_TOLD_MAX)
    return p.Signs(
        dead=[_dead(*row) for row in dead],
        unstarted=_held(*unstarted[0][:-1]) if unstarted else None,
        unstarted_jobs=unstarted[0][-1] if unstarted else 0,
        runs=[_held(*row) for row in runs],
        unfolded_at=(yield from value("oldest_page")),
    )


def _dead(id: str, type: str, org: str | None, attempt: int, error: str | None, reason: str | None) -> p.DeadSign:
    found: ErrorInfo | None = part(_error, error, "error", id)
    said = f"{found.type}: {found.message}" if found is not None else reason
    return p.DeadSign(id=id, type=type, org=org, attempt=attempt, error=said)


def _held(id: str, type: str, worker: str | None, since: int, policy: str | None) -> p.HeldSign:
    return p.HeldSign(id=id, type=type, worker=worker, since=since, timeout=decode_policy(policy).timeout)
