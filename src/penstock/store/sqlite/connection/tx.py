"""One write transaction of this engine, as the operations see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import apsw
import msgspec

from penstock.domain.flow.fair_shares import FairShares
from penstock.domain.flow.pauses import Pause, Pauses
from penstock.store.contract import ClaimJobs, Happened, JobSpec
from penstock.store.drive import drive
from penstock.store.sql.lanes import Eligible, EligibleLanes, Lane
from penstock.store.sql.rows import read_resources, resource_text
from penstock.store.sql.steps import Rows, Statement, Steps, as_json as as_json
from penstock.store.sqlite.connection.statements import sql

T = TypeVar("T")

Interned = tuple[int, int | None]
"""The number of a lane, and its stamp."""

NO_LANE: Interned = (0, None)


def fetch(db: apsw.Connection, text: str, bindings: dict[str, Any]) -> list[Any]:
    """All rows of a statement. What the columns are is known where it is written, not here."""
    return db.execute(text, bindings).fetchall()


def look(db: apsw.Connection, now: int, steps: Steps[T]) -> T:
    """What is written once for the SQL engines and only reads."""
    return drive(steps, lambda asked: _answer(db, now, asked))


def _answer(db: apsw.Connection, now: int, asked: Statement) -> Rows:
    given = {name: as_json(one) if isinstance(one, list | tuple) else one for name, one in asked.parameters.items()}
    return fetch(db, asked.text or sql(asked.name), {**given, "now": now})


class Lanes:
    """The interned routes and what is paused, cached over transactions.

    Lanes are only ever added, and each has a stamp that no other ever had: if the last one that is known is still
    there with its stamp, all of them are. If not, what they were learned from was undone, by a rollback to a savepoint
    or by the restore of a backup, and the cache is emptied. What is paused is known by a number of the same kind.
    A claim asks before it relies on the cache. New jobs are stored with a lane only where it has its stamp.

    `turns` says which tenants were served last, `beats` which heartbeats of this process were committed,
    `unblocked_at` when it was last looked for what stands in the way of claims.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str, str, str], Interned] = {}
        self._last: Interned = NO_LANE
        self._eligible = EligibleLanes()
        self._orders: int | None = None
        self._pauses = Pauses()
        self.turns = FairShares()
        self.unblocked_at = 0
        self.beats: dict[int, int] = {}

    def clear(self) -> None:
        self._orders = None
        self._ids.clear()
        self._eligible.clear()
        self._last = NO_LANE

    def find(self, tx: Tx, spec: JobSpec) -> Interned:
        """The lane of a route, made if it is new. What is stored with it must ask for its stamp: see is_gone()."""
        route = (spec.type, spec.queue, spec.capability, resource_text(spec.resources))
        lane = self._ids.get(route)
        if lane is None:
            self._check(tx)
            self._refresh(tx)
            lane = self._ids.get(route)
        if lane is None:
            [made] = tx.run("insert_lane", type=route[0], queue=route[1], capability=route[2], resources=route[3])
            lane = self._last = self._ids[route] = made
        return lane

    def is_gone(self, tx: Tx, lane: Interned) -> bool:
        """Whether a lane that was found is none of this transaction's. Then all are forgotten."""
        if tx.value("stamp_of_lane", lane=lane[0]) == lane[1]:
            return False
        self.clear()
        return True

    def eligible(self, tx: Tx, claim: ClaimJobs, last: Interned, orders: int) -> Eligible:
        """The lanes that a claim may take from. `last` and `orders` are as they are stored now."""
        if last != self._last:
            self._check(tx)
            self._refresh(tx)
        tx.sure = True
        if orders != self._orders:
            self._orders, self._pauses = orders, Pauses(Pause(*row) for row in tx.run("read_pauses"))
            self._eligible.clear()
        return self._eligible.of(claim, self._last, self._given_out)

    def _given_out(self) -> dict[int, Lane]:
        lanes = {number: Lane(*route[:3], read_resources(route[3])) for route, (number, _) in self._ids.items()}
        return {number: lane for number, lane in lanes.items() if not self._pauses.holding(lane)}

    def _check(self, tx: Tx) -> None:
        """Forget the lanes if they are not those of this transaction."""
        if not tx.sure:
            if self._last is not NO_LANE:
                self.is_gone(tx, self._last)
            tx.sure = True

    def _refresh(self, tx: Tx) -> None:
        for row in tx.run("read_lanes", known=self._last[0]):
            self._last = self._ids[row[2:]] = row[:2]


class Tx:
    """An open write transaction: its connection, its moment, and what should happen once it is committed.

    `sure` is whether the cached lanes are known to be those that this transaction sees, `beat` the session of a worker
    that was heard in it, `happened` what was done to jobs beside what its operations were asked for.
    """

    __slots__ = ("beat", "db", "happened", "lanes", "now", "random", "sure", "wake")

    def __init__(self, db: apsw.Connection, now: int, lanes: Lanes, random: Callable[[], float]) -> None:
        self.db = db
        self.now = now
        self.lanes = lanes
        self.random = random
        self.sure = False
        self.beat: int | None = None
        self.wake = False
        self.happened: list[Happened] = []

    def run(self, statement: str, /, **bindings: Any) -> list[Any]:
        """All rows of a statement from sql/."""
        return fetch(self.db, sql(statement), bindings)

    def change(self, statement: str, /, **bindings: Any) -> int:
        """Run a statement that changes rows; how many it changed."""
        self.db.execute(sql(statement), bindings)
        return self.db.changes()

    def change_by(self, statement: str, values: tuple[Any, ...]) -> int:
        """The same with values in the order in which the statement names them: several microseconds less."""
        self.db.execute(sql(statement), values)
        return self.db.changes()

    def value(self, statement: str, /, **bindings: Any) -> Any:
        """The only value of the only row, or None."""
        return self.db.execute(sql(statement), bindings).get

    def array(self, statement: str, /, **bindings: Any) -> list[Any]:
        """The JSON array that the statement's only row holds."""
        decoded: list[Any] = msgspec.json.decode(self.value(statement, **bindings))
        return decoded

    def carry_out(self, steps: Steps[T]) -> T:
        """An operation that is written once for the SQL engines, in this transaction."""
        return look(self.db, self.now, steps)
