"""Whether there are enough connections: for those that are open, and for all that the live workers may open."""

from __future__ import annotations

from typing import NamedTuple

from penstock.store.contract import Finding
from penstock.store.postgres.connection.loop_pool import LINKS
from penstock.store.sql.steps import Steps, run, value

SHARE_MAX = 0.8
WORKER_MAX = sum(LINKS.values()) + 3
"""Those of its event loop; one to listen, one for heartbeats, and one while it is asked for its health."""
FIX = "raise max_connections, lower ?pool= in the addresses, or put a pooler before the programs that only enqueue"


class Room(NamedTuple):
    """A limit on connections: whose it is, how many are in use, and how many there may be."""

    whose: str
    used: int
    room: int

    @property
    def fix(self) -> str:
        kind, name = self.whose.split(" ", 2)[1], self.whose.split(" ", 2)[-1]
        return FIX if kind == "server" else f'raise it: ALTER {kind.upper()} "{name}" CONNECTION LIMIT N'


def rooms(sees_activity: bool) -> Steps[list[Room]]:
    """All limits that this role is under."""
    found = yield from run("check_connections")
    found += (yield from run("check_role_connections")) if sees_activity else []
    return [Room(*row) for row in found]


def live_workers() -> Steps[int]:
    count: int = yield from value("check_workers")
    return count


def connections_finding(found: list[Room], workers: int | None) -> Finding:
    """The tightest limit decides. `workers` that live, or None if that is not known."""
    tight = max(found, key=lambda room: room.used / max(room.room, 1))
    small = min(found, key=lambda room: room.room)
    said = f"{tight.used:,} of {tight.room:,} of {tight.whose} in use"
    if tight.used > tight.room * SHARE_MAX:
        return Finding("connections", "warning", f"{said}: whoever comes when none is left is turned away", tight.fix)
    need = (workers or 0) * WORKER_MAX
    if need > small.room:
        return Finding(
            "connections", "warning", f"{said}; {workers:,} live workers may open up to {WORKER_MAX} each under load, "
            f"{need:,} in all, and {small.whose} has room for {small.room:,}: some would be turned away",
            f"{small.fix}; or run fewer worker processes with more slots each",
        )  # fmt: skip
    return Finding("connections", "ok", said)
