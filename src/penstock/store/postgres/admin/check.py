"""What threatens a store on a PostgreSQL server, found without changing it (the engine's part of `penstock doctor`).

Whatever this role may not look at is said so, and is no error: monitoring rights are not needed to run jobs.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.domain.duration import format_duration
from penstock.store.contract import Finding
from penstock.store.postgres.admin import check_connections, check_durability
from penstock.store.postgres.admin.check_durability import Server as Server
from penstock.store.postgres.admin.grants import RIGHTS, SEQUENCES
from penstock.store.postgres.admin.migrate import NO_VERSION, version_again
from penstock.store.postgres.connection.link import VERSION_MIN
from penstock.store.postgres.connection.statements import DEFAULT_SCHEMA
from penstock.store.sql.declared import type_findings
from penstock.store.sql.faults import fault_findings, flow_findings
from penstock.store.sql.steps import Rows, Steps, run

KEEP = "keep a copy (pg_dump) and report it"
OPEN_SECONDS_MAX = 300.0
DEAD_ROWS_MIN = 50_000
TABLES_NAMED = 3
# Tables whose rows come and go with every job: dead ones in them slow every claim and finish down.
CHURNED = ("waiting", "lease")
POINTERS = frozenset({"job", "waiting", "parked", "lease", "outcome", "lane", "gate", "worker"})
COUNTS = frozenset({"workflow", "step", "need", "member"})
INTEGRITY = ("check_pointers", "check_workflows")
"""The statements that find what must never be. Tests ask them too."""

WANTED = [
    (name, right)
    for rights, names in [*RIGHTS.items(), *SEQUENCES.items()]
    for name in names
    for right in rights.split(", ")
]


class Missing(NamedTuple):
    """A right that this role does not have. `there` is False when the table itself is missing, or not to be seen."""

    name: str
    right: str
    there: bool


def check_steps(deep: bool, pooled: bool, latest: int, schema: str = DEFAULT_SCHEMA) -> Steps[list[Finding]]:
    """All findings of this engine, over a connection that works. `latest` is the newest schema that is known here."""
    server = Server(*(yield from run("check_server"))[0])
    found = [version_finding(server), encoding_finding(server)]
    if any(finding.level == "error" for finding in found):
        return found
    found += [check_durability.durability_finding(server), writable_finding(server), pooler_finding(pooled)]
    names, privileges = (list(column) for column in zip(*WANTED, strict=True))
    rows = yield from run("check_rights", names=names, privileges=privileges)
    missing = [Missing(*row) for row in rows]
    found += yield from _schema(server, missing, latest, schema)
    found.append((yield from _connections(server, missing, found)))
    found.append((yield from _transactions(server)))
    found.append((yield from _slots(server)))
    if _is_sound(found):
        found += yield from _tables(server)
        found += yield from _types(missing)
        found += yield from _pointers(deep, missing)
        found += yield from _counts(deep, missing)
    return found


def unreachable(error: Exception) -> list[Finding]:
    """What is found of a server that cannot be asked."""
    return [Finding.from_error("server", error)]


# The server


def version_finding(server: Server) -> Finding:
    if server.number >= VERSION_MIN * 10_000:
        return Finding("server", "ok", f"PostgreSQL {server.version}")
    return Finding(
        "server", "error", f"the server is PostgreSQL {server.version}, and penstock needs {VERSION_MIN} or newer",
        f"upgrade the server to PostgreSQL {VERSION_MIN} or newer (pg_upgrade keeps the data)",
    )  # fmt: skip


def encoding_finding(server: Server) -> Finding:
    if server.encoding == "UTF8":
        return Finding("encoding", "ok", "UTF8")
    return Finding(
        "encoding", "error",
        f"the database {server.database} has the encoding {server.encoding}, which cannot hold every payload",
        "make a database with UTF8 and name it in the address: createdb -E UTF8 -T template0 NAME",
    )  # fmt: skip


def writable_finding(server: Server) -> Finding:
    if server.standby:
        return Finding(
            "writable", "error", "the server is a standby that follows another one: nothing can be stored here",
            "name the primary in the address, or all hosts with ?target_session_attrs=read-write",
        )  # fmt: skip
    if server.read_only:
        return Finding(
            "writable", "error", "default_transaction_read_only is on: nothing can be stored",
            f'ALTER DATABASE "{server.database}" RESET default_transaction_read_only, or the same of the role or the '
            "server, wherever it was set",
        )  # fmt: skip
    return Finding("writable", "ok", f"as {server.role} in {server.database}")


def pooler_finding(pooled: bool) -> Finding:
    if not pooled:
        return Finding("connection", "ok", "to the server itself")
    return Finding(
        "connection", "warning", "there is a transaction pooler between: no worker is woken through it, so each looks "
        "for jobs at its poll interval, and statements are not prepared",
        "give the workers the address of the server itself; the pooler is good for programs that only enqueue",
    )  # fmt: skip


def _connections(server: Server, missing: list[Missing], found: list[Finding]) -> Steps[Finding]:
    if not server.sees_databases:
        return _unseen("connections", "pg_stat_database")
    rooms = yield from check_connections.rooms(server.sees_activity)
    asked = _is_sound(found) and not any(one.name == "worker" for one in missing)
    workers = (yield from check_connections.live_workers()) if asked else None
    return check_connections.connections_finding(rooms, workers)


def _slots(server: Server) -> Steps[Finding]:
    if not server.sees_slots:
        return _unseen("write-ahead log", "pg_replication_slots")
    return check_durability.log_finding((yield from run("check_slots")))


def _is_sound(found: list[Finding]) -> bool:
    return not any(finding.name == "schema" and finding.level == "error" for finding in found)


def _unseen(name: str, view: str) -> Finding:
    return Finding(name, "ok", f"could not look: this role may not read {view}")


# The schema


def _schema(server: Server, missing: list[Missing], latest: int, schema: str) -> Steps[list[Finding]]:
    """Whether all is there, of which version it is, and whether this role may use it."""
    closed = next((one for one in missing if one.name == "meta"), None)
    if closed is not None:
        return [no_schema_finding(closed.there, server.role)]
    versions: dict[str, int] = dict((yield from run("check_version")))
    current = versions.get("schema_version", 0)
    found = schema_finding(current, versions.get("oldest", 0), latest)
    if current < 1:
        found = Finding("schema", "error", f"there is a store, but {NO_VERSION}", version_again(schema))
    absent = sorted({one.name for one in missing if not one.there})
    if absent and found.level == "ok":
        found = changed_finding(absent)
    return [found, rights_finding([one for one in missing if one.there], server.role)]


def no_schema_finding(there: bool, role: str) -> Finding:
    """`there`: whether there is a store, which is then closed to this role."""
    if there:
        return Finding(
            "schema", "error", f"the role {role} may not read the table meta, which tells the version of the store",
            _grant(role),
        )  # fmt: skip
    return Finding(
        "schema", "error", "there is no store in this schema",
        "name another one with ?schema=NAME in the address, or make it with: penstock migrate",
    )  # fmt: skip


def changed_finding(absent: list[str]) -> Finding:
    return Finding(
        "schema", "error", f"somebody has changed the schema by hand: there is no {', no '.join(absent)}",
        "restore it from a backup, or make again what is missing, as it is in: penstock migrate --dry-run",
    )  # fmt: skip


def schema_finding(current: int, oldest: int, latest: int) -> Finding:
    if oldest > latest:
        return Finding(
            "schema", "error", f"the schema has version {current} and needs a penstock that knows {oldest}; this one "
            f"knows {latest}",
            "upgrade penstock",
        )  # fmt: skip
    if current < latest:
        return Finding(
            "schema", "error", f"the schema has version {current}, this penstock needs {latest}",
            "run: penstock migrate (programs of the old version go on working)",
        )  # fmt: skip
    newer = f"; this penstock knows {latest}, and works with it" if current > latest else ", the latest"
    return Finding("schema", "ok", f"version {current}{newer}")


def rights_finding(missing: list[Missing], role: str) -> Finding:
    if not missing:
        return Finding("rights", "ok", f"the role {role} may do all that penstock does")
    by_name: dict[str, list[str]] = {}
    for one in missing:
        by_name.setdefault(one.name, []).append(one.right)
    said = ", ".join(f"{'/'.join(rights)} on {name}" for name, rights in by_name.items())
    return Finding(
        "rights", "error", f"the role {role} lacks {said}",
        _grant(role),
    )  # fmt: skip


def _grant(role: str) -> str:
    return f"let the owner of the schema run what this prints: penstock migrate --grants {role}"


# What slows it down


def _transactions(server: Server) -> Steps[Finding]:
    if not server.sees_activity:
        return _unseen("long transactions", "pg_stat_activity or pg_prepared_xacts")
    rows = yield from run("check_transactions")
    return transactions_finding(rows, server.sees_all_activity, server.role)


def transactions_finding(rows: Rows, sees_all: bool, role: str) -> Finding:
    """The rows are (who, seconds, how to end it), the oldest first."""
    long = [(who, seconds, end) for who, seconds, end in rows if seconds > OPEN_SECONDS_MAX]
    if long:
        who, seconds, end = long[0]
        return Finding(
            "long transactions", "warning", f"{who} has kept a transaction open for {_about(seconds)}"
            + (f", and there are others ({len(long)} of the oldest)" if len(long) > 1 else "")
            + ": no row that has died since is cleaned up, and the tables grow",
            f"let it end, or: {end}",
        )  # fmt: skip
    oldest = f"the oldest for {_about(rows[0][1])}" if rows else "none that keeps dead rows"
    hidden = (
        "" if sees_all else f"; could not look at those of other roles (GRANT pg_read_all_stats TO {role} allows it)"
    )
    return Finding("long transactions", "ok", oldest + hidden)


def _tables(server: Server) -> Steps[list[Finding]]:
    rows = yield from run("check_tables")
    unlogged = check_durability.unlogged_finding([name for name, *_, is_unlogged in rows if is_unlogged])
    found = [] if unlogged is None else [unlogged]
    found.append(autovacuum_finding(server.autovacuum, [name for name, *_, off, _ in rows if off]))
    if server.sees_tables:
        found.append(dead_rows_finding({name: (live, dead) for name, _, live, dead, *_ in rows if name in CHURNED}))
    else:
        found.append(_unseen("dead rows", "pg_stat_all_tables"))
    return [*found, size_finding([(name, size) for name, size, *_ in rows])]


def autovacuum_finding(on: bool, off_for: list[str]) -> Finding:
    if on and not off_for:
        return Finding("autovacuum", "ok", "on")
    where = f"for {', '.join(off_for)}" if on else "on this server"
    fixes = [f"ALTER TABLE {name} RESET (autovacuum_enabled)" for name in off_for] if on else [
        "set autovacuum and track_counts to on in postgresql.conf"
    ]  # fmt: skip
    return Finding(
        "autovacuum", "warning", f"it is off {where}: dead rows are never cleaned up, and everything gets slower",
        "; ".join(fixes),
    )  # fmt: skip


def dead_rows_finding(counts: dict[str, tuple[int, int]]) -> Finding:
    """`counts` is (live, dead) of the tables whose rows come and go."""
    said = ", ".join(f"{name} {dead:,} beside {live:,} live" for name, (live, dead) in sorted(counts.items()))
    bad = sorted(name for name, (live, dead) in counts.items() if dead > max(live, DEAD_ROWS_MIN))
    if not bad:
        return Finding("dead rows", "ok", said or "not counted yet")
    return Finding(
        "dead rows", "warning", f"{said}: more dead ones than live ones slow down whatever reads past them",
        f"end long transactions, then VACUUM {', '.join(bad)} in penstock's schema; does autovacuum keep up?",
    )  # fmt: skip


def size_finding(sizes: list[tuple[str, int]]) -> Finding:
    """The tables with their indexes, the largest first."""
    named = ", ".join(f"{name} {_mebibytes(size)}" for name, size in sizes[:TABLES_NAMED])
    return Finding("size", "ok", f"{_mebibytes(sum(size for _, size in sizes))} in all; the largest: {named}")


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def _about(seconds: float) -> str:
    return format_duration(round(seconds)) if seconds >= 1 else "less than 1s"


# What must hold


def _pointers(deep: bool, missing: list[Missing]) -> Steps[list[Finding]]:
    closed = sorted({one.name for one in missing if one.name in POINTERS and one.right == "SELECT"})
    if closed:
        return [_unseen("integrity", ", ".join(closed))]
    if not deep:
        return [Finding("integrity", "ok", "not checked: it reads every job; --deep does it")]
    return list(fault_findings("integrity", (yield from run("check_pointers")), KEEP))


def _types(missing: list[Missing]) -> Steps[list[Finding]]:
    if any(one.name == "job_type" and one.right == "SELECT" for one in missing):
        return [_unseen("types", "job_type")]
    return list(type_findings((yield from run("read_types"))))


def _counts(deep: bool, missing: list[Missing]) -> Steps[list[Finding]]:
    if not deep or any(one.name in COUNTS and one.right == "SELECT" for one in missing):
        return []
    return list(flow_findings((yield from run("check_workflows")), KEEP))
