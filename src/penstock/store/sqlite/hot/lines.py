"""Ordered keys: who is first in line before a gate, and how jobs get their places and leave them.

A place is a ticket with the due time of the enqueue. It is kept until the job has ended for good, so one that waits
for its next attempt stays first. Tickets of jobs that have ended mean nothing, and go when somebody looks who is first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.store.contract import Claim, NewJob
from penstock.store.sql.gating import Seen, places_of
from penstock.store.sqlite.connection.tx import Tx, as_json

AFTER_ALL = 2**63 - 1


def line_up(tx: Tx, jobs: Sequence[NewJob], last_job: int) -> None:
    """New jobs join their lines. Somebody should look: one that was due before all others may be parked."""
    places = places_of(jobs)
    if places:
        tx.change("line_up_new", rows=as_json(list(places.items())), last_job=last_job)
        wake_lines(tx, set(places.values()))


def line_up_late(tx: Tx, claims: Iterable[Claim], gates: dict[str, Seen]) -> None:
    """Jobs that were enqueued before their gate was ordered join where they would have been."""
    places = [(claim.id, gate.name) for claim in claims for gate in claim.gates or () if gates[gate.name].ordered]
    tx.change("line_up_late", rows=as_json(places))


def first_in_line(tx: Tx, gates: Iterable[Seen]) -> dict[str, str | None]:
    """Who may pass each of the gates that are ordered. Whoever stood before them has ended, and is forgotten."""
    names = [gate.name for gate in gates if gate.ordered]
    if not names:
        return {}
    firsts = tx.run("first_in_line", names=as_json(names))
    places = [(name, AFTER_ALL, 0) if id_ is None else (name, due_at, seq) for name, due_at, seq, id_ in firsts]
    tx.change("forget_tickets_before", places=as_json(places))
    return {name: id_ for name, _, _, id_ in firsts}


def line_up_parked(tx: Tx, names: Sequence[str]) -> None:
    """Jobs that were parked before their gate was ordered join too."""
    tx.change("line_up_parked", names=as_json(names))


def leave_line(tx: Tx, ids: Sequence[str]) -> None:
    """Jobs that ended while they waited: those behind them are next."""
    if ids:
        wake_lines(tx, {name for (name,) in tx.run("leave_line", ids=as_json(ids))})


def wake_lines(tx: Tx, names: Iterable[str]) -> None:
    found = list(names)
    if found and tx.change("wake_lines", names=as_json(found), now=tx.now):
        tx.wake = True
