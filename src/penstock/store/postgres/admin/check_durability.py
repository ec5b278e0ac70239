"""What a commit on this server is worth, and what threatens it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.domain.duration import format_size
from penstock.store.contract import Finding
from penstock.store.sql.steps import Rows

SLOT_BYTES_MAX = 2**30

# What synchronous_commit waits for where a standby is named that has to agree; else each means the server's own disk.
_STANDBY = {
    "on": "and on that of a standby",
    "remote_apply": "and applied by a standby",
    "remote_write": "and handed to a standby's operating system",
    "local": "and a standby is not waited for",
}


class Server(NamedTuple):
    """What check_server answers. The last five say what this role may look at."""

    number: int
    version: str
    encoding: str
    database: str
    role: str
    fsync: bool
    full_page_writes: bool
    synchronous_commit: str
    standby_named: bool
    standby: bool
    read_only: bool
    autovacuum: bool
    sees_databases: bool
    sees_activity: bool
    sees_all_activity: bool
    sees_tables: bool
    sees_slots: bool


def durability_finding(server: Server) -> Finding:
    off = [name for name in ("fsync", "full_page_writes") if not getattr(server, name)]
    if off:
        return Finding(
            "durability", "warning", f"{' and '.join(off)} off: a crash of the machine can lose jobs that were "
            "stored, and damage the whole server",
            "set to on in postgresql.conf: " + ", ".join(off),
        )  # fmt: skip
    if server.synchronous_commit == "off":
        return Finding(
            "durability", "warning", "synchronous_commit is off for this role: penstock switches it on for itself, but "
            "not in transactions of your own that enqueue, nor behind a pooler; a crash may undo the newest of those",
            f'ALTER ROLE "{server.role}" SET synchronous_commit = on',
        )  # fmt: skip
    more = f" {_STANDBY.get(server.synchronous_commit, '')}" if server.standby_named else ""
    said = f"synchronous_commit={server.synchronous_commit}: every commit is on the server's disk{more} before the call"
    return Finding("durability", "ok", f"{said} returns; survives power loss")


def unlogged_finding(tables: list[str]) -> Finding | None:
    """Tables that somebody has made faster at the price of their content."""
    if not tables:
        return None
    return Finding(
        "durability", "warning", f"not logged: {', '.join(tables)}; a crash of the server empties them, and the jobs "
        "that were stored are gone or in no state",
        "; ".join(f"ALTER TABLE {name} SET LOGGED" for name in tables),
    )  # fmt: skip


def log_finding(slots: Rows) -> Finding:
    """The rows are (slot, whether somebody reads it, bytes that it keeps), the most first."""
    if not slots or slots[0][2] <= SLOT_BYTES_MAX:
        return Finding("write-ahead log", "ok", "no replication slot keeps much of it")
    name, active, kept = slots[0]
    behind = "whose reader is far behind" if active else "which nobody reads"
    return Finding(
        "write-ahead log", "warning", f"the replication slot {name!r}, {behind}, keeps {format_size(kept >> 30 << 30)} "
        "of the log: when the disk is full, nothing can be stored",
        f"let its reader catch up, or, if it is not needed any more: SELECT pg_drop_replication_slot('{name}')",
    )  # fmt: skip
