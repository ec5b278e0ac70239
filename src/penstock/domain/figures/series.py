"""What is counted of the jobs that share a type, a queue and a capability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from penstock.domain.figures import grid


class Count(StrEnum):
    """What can be counted (O1). An attempt counts in several: one that fails for good has started, failed and is dead.

    `failed` and `timeout` are of attempts, `dead` of jobs; `retried` is a job that waits for its next attempt.
    """

    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRIED = "retried"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    TIMEOUT = "timeout"
    START_TIMEOUT = "start_timeout"
    RELEASED = "released"
    RECOVERED = "recovered"
    SNOOZED = "snoozed"


class Route(NamedTuple):
    """Whose figures these are."""

    type: str
    queue: str
    capability: str


OTHER = "(other)"
"""Stands for all types, or tenants, beyond those that are counted each by itself."""
OTHERS = Route(OTHER, OTHER, OTHER)


class Figures(msgspec.Struct, array_like=True):
    """`ran` are the seconds that its attempts have run, and `running`, `waiting`, `claiming` how many of them took how
    long: to run, from due to begun, from due to claimed. `attempts` is how many jobs ended for good with which attempt.
    """

    counts: dict[Count, int] = {}
    ran: float = 0.0
    running: dict[int, int] = {}
    waiting: dict[int, int] = {}
    claiming: dict[int, int] = {}
    attempts: dict[int, int] = {}
    claimed: int = 0

    def count(self, *what: Count, times: int = 1) -> None:
        for one in what:
            self.counts[one] = self.counts.get(one, 0) + times

    def add(self, other: Figures) -> None:
        for what, times in other.counts.items():
            self.count(what, times=times)
        self.ran += other.ran
        self.claimed += other.claimed
        grid.add(self.running, other.running)
        grid.add(self.waiting, other.waiting)
        grid.add(self.claiming, other.claiming)
        grid.add(self.attempts, other.attempts)

    @property
    def runs(self) -> int:
        """How many attempts were timed."""
        return sum(self.running.values())


class TenantFigures(msgspec.Struct, array_like=True):
    """Of the jobs of one tenant: how many ended well, failed, and for how many seconds they ran."""

    completed: int = 0
    failed: int = 0
    ran: float = 0.0

    def add(self, other: TenantFigures) -> None:
        self.completed += other.completed
        self.failed += other.failed
        self.ran += other.ran


class Tally(msgspec.Struct):
    """Figures by route, and by tenant."""

    routes: dict[Route, Figures] = {}
    tenants: dict[str, TenantFigures] = {}

    def of(self, route: Route) -> Figures:
        found = self.routes.get(route)
        if found is None:
            found = self.routes[route] = Figures()
        return found

    def of_tenant(self, org: str) -> TenantFigures:
        found = self.tenants.get(org)
        if found is None:
            found = self.tenants[org] = TenantFigures()
        return found

    def add(self, other: Tally) -> None:
        for route, figures in other.routes.items():
            self.of(route).add(figures)
        for org, tenant in other.tenants.items():
            self.of_tenant(org).add(tenant)

    def __bool__(self) -> bool:
        return bool(self.routes or self.tenants)


_Packed = tuple[list[tuple[str, str, str, Figures]], dict[str, TenantFigures]]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Packed).decode


def pack(tally: Tally) -> str:
    """As it is sent and stored."""
    return _encode(([(*route, figures) for route, figures in tally.routes.items()], tally.tenants)).decode()


def unpack(packed: str) -> Tally:
    rows, tenants = _decode(packed)
    return Tally({Route(*route): figures for *route, figures in rows}, tenants)


def total(figures: Iterable[Figures]) -> Figures:
    found = Figures()
    for one in figures:
        found.add(one)
    return found


def top(tenants: Mapping[str, TenantFigures], most: int) -> dict[str, TenantFigures]:
    """Those with the most work, and the others as one."""
    ranked = sorted(tenants, key=lambda org: (-tenants[org].ran, -tenants[org].completed - tenants[org].failed, org))
    found = {org: tenants[org] for org in ranked[:most]}
    for org in ranked[most:]:
        found.setdefault(OTHER, TenantFigures()).add(tenants[org])
    return found
