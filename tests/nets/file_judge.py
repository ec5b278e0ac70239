"""What must hold in a store in a file, looked at with a connection of its own; and all that is stored, to compare."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import msgspec

from penstock.store.sql.faults import FAULTS, FLOW_FAULTS
from penstock.store.sqlite.check import INTEGRITY
from penstock.store.sqlite.connection.statements import sql
from tests.nets.invariants import TRANSITIONS
from tests.nets.seen import Seen
from tests.nets.stage import Stage

LOOK = """
SELECT json_object(
    'jobs', json((SELECT json_group_object(id, attempt) FROM penstock_job)),
    'outcomes', json((
        SELECT json_group_object(id, state) FROM penstock_outcome JOIN penstock_job USING (seq)
    )),
    'leases', json((
        SELECT json_group_object(token, json_object(
            'id', job.id, 'begun', started_at IS NOT NULL, 'cancel', cancel, 'session', session,
            'type', lane.type, 'queue', lane.queue
        ))
        FROM penstock_lease AS lease JOIN penstock_job AS job USING (seq) JOIN penstock_lane AS lane USING (lane)
    )),
    'waiting', json((
        SELECT json_group_array(id) FROM penstock_job
        JOIN (
            SELECT seq FROM penstock_ready UNION ALL SELECT seq FROM penstock_scheduled
            UNION ALL SELECT seq FROM penstock_parked
        ) USING (seq)
    )),
    'pauses', json((SELECT json_group_array(kind || ' ' || name) FROM penstock_pause)),
    'given_back', json((
        SELECT json_group_array(id) FROM penstock_history JOIN penstock_job USING (seq) WHERE event = 'give_back'
    )),
    'running', (SELECT count(*) FROM penstock_workflow WHERE state = 0),
    'token', (SELECT max(seq) FROM sqlite_sequence WHERE name = 'penstock_lease'),
    'term', (SELECT coalesce(max(term), 0) FROM penstock_leader)
)
"""
LIMITS = {
    "more jobs hold a gate than may": """
        SELECT gate.name FROM penstock_gate AS gate JOIN penstock_hold USING (gate) JOIN penstock_lease USING (token)
        WHERE gate.period IS NULL GROUP BY gate.gate HAVING count(*) > gate.most
    """,
    "more jobs have passed a gate than may in its period": """
        SELECT gate.name FROM penstock_gate AS gate JOIN penstock_permit AS permit USING (gate)
        WHERE permit.at > {now} - gate.period GROUP BY gate.gate HAVING count(*) > gate.most
    """,
    "a job with a limit is under way and holds nothing": """
        SELECT job.id FROM penstock_lease AS lease JOIN penstock_job AS job USING (seq)
        WHERE job.gates IS NOT NULL AND json_array_length(job.gates)
            <> (SELECT count(*) FROM penstock_hold AS hold WHERE hold.token = lease.token)
    """,
    "a lease is gone, and still holds a gate": """
        SELECT name FROM penstock_hold JOIN penstock_gate USING (gate)
        WHERE token NOT IN (SELECT token FROM penstock_lease)
    """,
    "one that is not the first in its line is under way": """
        SELECT ticket.id FROM penstock_lease AS lease JOIN penstock_ticket AS ticket USING (seq)
        JOIN penstock_ticket AS other ON other.name = ticket.name
            AND (other.due_at, other.seq) < (ticket.due_at, ticket.seq)
        WHERE other.seq NOT IN (SELECT seq FROM penstock_outcome) AND other.seq IN (SELECT seq FROM penstock_job)
    """,
    "a dead letter was retried twice": """
        SELECT retried_from FROM penstock_job WHERE retried_from IS NOT NULL
        GROUP BY retried_from HAVING count(*) > 1
    """,
    "two jobs with one unique key": """
        SELECT unique_key FROM penstock_job
        WHERE unique_key IS NOT NULL AND seq NOT IN (SELECT seq FROM penstock_outcome)
        GROUP BY unique_key HAVING count(*) > 1
    """,
    "a schedule has fired another number of times than it says": """
        SELECT name FROM penstock_schedule AS schedule
        WHERE fires <> (
            SELECT count(*) FROM penstock_job AS job, json_each(coalesce(job.tags, '[]')) AS tag
            WHERE tag.value = 'schedule:' || schedule.name
        )
    """,
}
"""What nobody may ever see, in the words of the finding."""
RULES = len(FAULTS) + len(FLOW_FAULTS) + 1 + len(LIMITS) + TRANSITIONS + 1
"""The first one beside the faults: SQLite's own check of the file; the last: what is left can be worked off."""
DRAWN_BY_CHANCE = {"penstock_lane": "stamp", "penstock_order_number": "number"}

Stored = dict[str, list[Any]]


class FileJudge:
    """On the store at a path."""

    def __init__(self, path: Path, stage: Stage) -> None:
        self.stage = stage
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(10_000)

    def close(self) -> None:
        self._connection.close()

    def look(self) -> Seen:
        found = msgspec.json.decode(self._connection.execute(LOOK).get)
        leases = {int(token): lease for token, lease in found.pop("leases").items()}
        return Seen(leases=leases, pauses=set(found.pop("pauses")), **found)

    def integrity(self) -> list[str]:
        answer = self._connection.execute("PRAGMA integrity_check(1)").get
        rows = [row for name in INTEGRITY for row in self._connection.execute(sql(name)).fetchall()]
        return [f"SQLite: {answer}"] * (answer != "ok") + [f"doctor: {row}" for row in rows]

    def limits(self, now: int) -> list[str]:
        rows: list[Any] = self._connection.execute(_limits().replace("{now}", str(now))).fetchall()
        return [f"{words}: {example}" for words, example in rows]

    def stored(self) -> Stored:
        """All rows of all tables, but for what is drawn by chance."""
        tables: list[Any] = self._connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
        ).fetchall()
        return {table: self._rows(table) for (table,) in tables}

    def _rows(self, table: str) -> list[Any]:
        chance = DRAWN_BY_CHANCE.get(table)
        columns = [name for (name,) in _columns(self._connection, table) if name != chance]
        return sorted(self._connection.execute(f'SELECT {", ".join(columns)} FROM "{table}"').fetchall(), key=repr)


def _columns(db: apsw.Connection, table: str) -> list[Any]:
    return db.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()


@cache
def _limits() -> str:
    """All in one."""
    return " UNION ALL ".join(
        f"SELECT '{words}', (SELECT * FROM ({query}) LIMIT 1) WHERE EXISTS ({query})" for words, query in LIMITS.items()
    )


def mark(stored: Stored) -> str:
    """The same for the same."""
    return hashlib.sha256(repr(stored).encode()).hexdigest()


def difference(found: Stored, wanted: Stored) -> str:
    """The first few rows in which two differ."""
    said = []
    for table in sorted({*found, *wanted}):
        here, there = found.get(table, []), wanted.get(table, [])
        said += [f"+{table}{row}" for row in here if row not in there]
        said += [f"-{table}{row}" for row in there if row not in here]
    return "; ".join(one[:160] for one in said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else "")
