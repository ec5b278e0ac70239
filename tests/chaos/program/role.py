"""What a process of a chaos run is told, as JSON in its environment: its child processes must know it too."""

from __future__ import annotations

import os
from typing import Any

import msgspec

VARIABLE = "CHAOS_ROLE"


class Crash(msgspec.Struct, frozen=True):
    """Where the process ends itself: at the `nth` time that it passes this point. The points are in crashes.py."""

    point: str
    nth: int = 1


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """One process: `name` in the histories, where its store is, and what is wrong with it."""

    name: str
    address: str
    histories: str
    """The folder in which each process has a file."""
    effects: str = "effects"
    orders: str = "orders"
    settings: dict[str, Any] = {}
    crash: Crash | None = None
    freeze: Crash | None = None
    """On PostgreSQL: it stops itself, as by SIGSTOP, before it sends the statement of this name for the nth time."""
    clock: str | None = None
    """A file that holds by how many seconds its clock is wrong; it may change at any time."""
    store_clock: bool = False
    """Whether the store goes by that clock too: then the clock of the whole machine is wrong."""
    deaf: bool = False
    """Nobody can ring its bell: it finds work by looking."""
    full: str | None = None
    """On SQLite: while this file is there, its disk is full."""
    volume: tuple[str, str] | None = None
    """A folder, and where alone this process sees it: in a mount namespace of its own."""
    plans: str | None = None
    """Of a client: the file with the jobs that it enqueues."""
    pause: float = 0.0
    """Of a client: seconds between two enqueues."""
    at_once: int = 1
    """Of a client: how many tasks enqueue at the same time; with 1 it is plain code without an event loop."""

    def environment(self) -> dict[str, str]:
        return {VARIABLE: msgspec.json.encode(self).decode()}


def given() -> Role:
    """The role of this process."""
    text = os.environ.get(VARIABLE)
    if text is None:
        raise SystemExit(f"{VARIABLE} is not set: this program is started by `make chaos`, not by hand")
    return msgspec.json.decode(text, type=Role)
