"""One write transaction of this engine, as the operations see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import msgspec

from penstock.domain.options import NO_RESOURCES, Resources
from penstock.domain.pauses import Pause, Pauses
from penstock.domain.room import is_scarce
from penstock.domain.routing import why_not
from penstock.domain.turns import Turns
from penstock.store.params import ClaimJobs, JobSpec
from penstock.store.rows import read_resources
from penstock.store.sqlite.statements import sql
from penstock.store.turns import Kind, kind_of

Interned = tuple[int, int | None]
"""The number of a lane, and its stamp."""

NO_LANE: Interned = (0, None)

_encode = msgspec.json.Encoder().encode


def as_json(value: Any) -> str:
    """A parameter for json_each()."""
    return _encode(value).decode()


def fetch(db: apsw.Connection, text: str, bindings: dict[str, Any]) -> list[Any]:
    """All rows of a statement. What the columns are is known where it is written, not here."""
    return db.execute(text, bindings).fetchall()


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
        self._eligible: dict[tuple[object, ...], Eligible] = {}
        self._orders: int | None = None
        self._pauses = Pauses()
        self.turns = Turns()
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
        key = (claim.types, claim.queues, claim.capabilities, claim.resources, tuple(cap.names for cap in claim.caps))
        found = self._eligible.get(key)
        if found is None or found.known != self._last:
            if len(self._eligible) > 64:
                self._eligible.clear()
            found = self._eligible[key] = self._find_eligible(claim)
        return found

    def _find_eligible(self, claim: ClaimJobs) -> Eligible:
        routes = {lane: _Lane(*route[:3], read_resources(route[3])) for route, (lane, _) in self._ids.items()}
        lanes = {lane: route for lane, route in routes.items() if self._may_take(claim, route)}
        scarce = {lane: route for lane, route in lanes.items() if is_scarce(route, claim.caps)}
        plain = [lane for lane in lanes if lane not in scarce]
        alike: dict[Kind, list[int]] = {}
        for lane, route in lanes.items():
            alike.setdefault(kind_of(route.queue, scarce.get(lane)), []).append(lane)
        counted = frozenset(kind_of(route.queue, route) for route in scarce.values())
        return Eligible(self._last, as_json(list(lanes)), plain, scarce, alike, counted)

    def _may_take(self, claim: ClaimJobs, route: _Lane) -> bool:
        return not self._pauses.holding_names(route.type, route.queue) and not why_not(claim, route)

    def _check(self, tx: Tx) -> None:
        """Forget the lanes if they are not those of this transaction."""
        if not tx.sure:
            if self._last is not NO_LANE:
                self.is_gone(tx, self._last)
            tx.sure = True

    def _refresh(self, tx: Tx) -> None:
        for row in tx.run("read_lanes", known=self._last[0]):
            self._last = self._ids[row[2:]] = row[:2]


def resource_text(resources: Resources) -> str:
    """As a lane stores them."""
    return "" if resources is NO_RESOURCES or resources == NO_RESOURCES else as_json(resources)


class _Lane(msgspec.Struct, frozen=True):
    type: str
    queue: str
    capability: str
    resources: Resources


class Eligible(NamedTuple):
    """The lanes that a claim may take from, when `known` was the last of all: all as a JSON array; those whose jobs
    need nothing that has to be counted; those whose jobs do; those whose jobs may stand in for each other, by kind; and
    which of these kinds have to be counted.
    """

    known: Interned
    all: str
    plain: list[int]
    scarce: dict[int, _Lane]
    alike: dict[Kind, list[int]]
    counted: frozenset[Kind]


class Tx:
    """An open write transaction: its connection, its moment, and what should happen once it is committed.

    `sure` is whether the cached lanes are known to be those that this transaction sees, `beat` the session of a worker
    that was heard in it.
    """

    __slots__ = ("beat", "db", "lanes", "now", "random", "sure", "wake")

    def __init__(self, db: apsw.Connection, now: int, lanes: Lanes, random: Callable[[], float]) -> None:
        self.db = db
        self.now = now
        self.lanes = lanes
        self.random = random
        self.sure = False
        self.beat: int | None = None
        self.wake = False

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
