"""What this process works with: its role, its history, and its store with all that is wrong with it."""

from __future__ import annotations

import os
from typing import cast

from penstock import App
from penstock.engines import SqliteAddress, open_store, parse_address
from penstock.store.contract import SqlStore
from penstock.store.sqlite.store import SqliteStore
from tests.chaos.program.clocks import WrongClock
from tests.chaos.program.crashes import CrashingStore, DeafStore, Points, freeze_before
from tests.chaos.program.disks import FillingDisk
from tests.chaos.program.namespaces import see_only_as
from tests.chaos.program.role import given
from tests.checker.recording import Log, RecordingStore

PARENT = "CHAOS_PARENT"
"""Set by a worker for the processes that it starts."""

role = given()
is_child = PARENT in os.environ
"""Whether this is a child process of a worker: it runs handlers, and has a history of its own."""
if role.volume is not None and not is_child:
    see_only_as(*role.volume)
log = Log(role.histories, f"{role.name}-child-{os.getpid()}" if is_child else role.name)
points = Points(None if is_child else role.crash, lambda: log.killed(role.name))
clock = WrongClock(role.clock) if role.clock else None
disk = FillingDisk(role.full) if role.full else None
if role.freeze is not None and not is_child:
    freeze_before(role.freeze, lambda: log.paused(role.name))


def new_app() -> App:
    """What happened is recorded outermost: a call during which the process dies has no answer in its history."""
    store = _bare_store()
    if role.deaf:
        store = cast(SqlStore, DeafStore(store))
    crashing = cast(SqlStore, CrashingStore(store, points))
    return App(RecordingStore(crashing, log), clock=clock)


def _bare_store() -> SqlStore:
    store_clock = clock if role.store_clock else None
    if disk is None:
        return open_store(role.address, clock=store_clock)
    address = parse_address(role.address)
    assert isinstance(address, SqliteAddress)
    return SqliteStore(address.path, clock=store_clock, vfs=disk.name)
