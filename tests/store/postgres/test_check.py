"""What the engine finds out about its server and its tables: each trouble is made, and must be named with its fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import NotAStore, StoreUnavailable
from penstock.engines import open_store
from penstock.observe.doctor import check_store
from penstock.store.contract import CheckStore, Finding
from penstock.store.drive import drive
from penstock.store.postgres.admin import check, check_connections, check_durability
from penstock.store.postgres.admin.check import Server as Told
from penstock.store.postgres.admin.check_connections import WORKER_MAX, Room, connections_finding
from penstock.store.postgres.admin.check_durability import durability_finding, log_finding, unlogged_finding
from penstock.store.postgres.admin.grants import grants_sql
from penstock.store.postgres.connection.statements import migrations, sql
from penstock.system.clock import SystemClock
from tests.contract.flows import Flow
from tests.postgres.server import Server
from tests.store.postgres.rivals import RivalWorld, new_world

LATEST = migrations("penstock")[-1][0]
SOUND = Told(
    number=180000, version="18.0", encoding="UTF8", database="jobs", role="worker", fsync=True, full_page_writes=True,
    synchronous_commit="on", standby_named=False, standby=False, read_only=False, autovacuum=True, sees_databases=True,
    sees_activity=True, sees_all_activity=True, sees_tables=True, sees_slots=True,
)  # fmt: skip


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


@pytest.fixture
def role(world: RivalWorld) -> Iterator[str]:
    """A role that may log in, and nothing else."""
    name = f"role_{world.schema}"
    world.rows(f"CREATE ROLE {name} LOGIN")
    yield name
    world.rows(f"DROP OWNED BY {name}")
    world.rows(f"DROP ROLE {name}")


def findings(world: RivalWorld, deep: bool = False, role: str = "postgres") -> list[Finding]:
    store = open_store(world.server.url(user=role, schema=world.schema))
    try:
        found = store.check_store(CheckStore(deep)).wait()
    finally:
        store.close()
    assert all((finding.fix is None) == (finding.level == "ok") for finding in found)
    return found


def only(found: list[Finding], name: str) -> Finding:
    (finding,) = [finding for finding in found if finding.name == name]
    return finding


def tell(finding: Finding) -> tuple[str, str]:
    """What a person reads, and the level."""
    assert (finding.fix is None) == (finding.level == "ok")
    return finding.level, f"{finding.message} → {finding.fix}"


# A sound store


def test_a_sound_store_is_sound(world: RivalWorld) -> None:
    world.claim(world.register())
    world.add_many(3)
    found = findings(world, deep=True)
    # The servers of the tests do without fsync.
    assert {finding.name for finding in found if finding.level != "ok"} == {"durability"}
    assert only(found, "schema").message == f"version {LATEST}, the latest"
    assert only(found, "integrity").message == "every job is in exactly one state, and where its row says"
    assert "PostgreSQL 18" in only(found, "server").message
    assert "MiB in all" in only(found, "size").message


def test_without_deep_no_job_is_read(world: RivalWorld) -> None:
    assert "--deep" in only(findings(world), "integrity").message


# The server, as it may be


@pytest.mark.parametrize(
    ("judge", "change", "level", "words"),
    [
        (check.version_finding, {}, "ok", "PostgreSQL 18.0"),
        (check.version_finding, {"number": 140011, "version": "14.11"}, "error", "14.11"),
        (check.encoding_finding, {}, "ok", "UTF8"),
        (check.encoding_finding, {"encoding": "LATIN1"}, "error", "LATIN1"),
        (durability_finding, {}, "ok", "synchronous_commit=on: every commit is on the server's disk before the call"),
        (durability_finding, {"fsync": False}, "warning", "fsync"),
        (durability_finding, {"full_page_writes": False}, "warning", "full_page_writes"),
        (durability_finding, {"synchronous_commit": "off"}, "warning", 'ALTER ROLE "worker" SET'),
        (durability_finding, {"standby_named": True}, "ok", "the server's disk and on that of a standby before"),
        (durability_finding, {"standby_named": True, "synchronous_commit": "local"}, "ok", "is not waited for"),
        (check.writable_finding, {}, "ok", "as worker in jobs"),
        (check.writable_finding, {"standby": True}, "error", "target_session_attrs=read-write"),
        (check.writable_finding, {"read_only": True}, "error", 'ALTER DATABASE "jobs" RESET'),
    ],
)
def test_the_server(judge: Any, change: dict[str, Any], level: str, words: str) -> None:
    found, told = tell(judge(SOUND._replace(**change)))
    assert (found, words in told) == (level, True)


@pytest.mark.parametrize(("pooled", "level"), [(False, "ok"), (True, "warning")])
def test_a_pooler(pooled: bool, level: str) -> None:
    assert tell(check.pooler_finding(pooled))[0] == level


def test_tables_that_are_not_logged() -> None:
    assert unlogged_finding([]) is None
    finding = unlogged_finding(["job", "lease"])
    assert finding is not None
    assert tell(finding)[1].endswith("ALTER TABLE job SET LOGGED; ALTER TABLE lease SET LOGGED")


@pytest.mark.parametrize(
    ("slots", "level", "words"),
    [
        ([], "ok", "no replication slot"),
        ([("here", True, 2**30)], "ok", "no replication slot"),
        ([("gone", False, 3 * 2**30 + 5)], "warning", "'gone', which nobody reads, keeps 3Gi of the log"),
        ([("slow", True, 2**40)], "warning", "'slow', whose reader is far behind, keeps 1Ti"),
    ],
)
def test_a_slot_that_keeps_the_log(slots: list[tuple[Any, ...]], level: str, words: str) -> None:
    found, told = tell(log_finding(slots))
    assert (found, words in told) == (level, True)


# Connections


@pytest.mark.parametrize(("used", "level"), [(80, "ok"), (81, "warning")])
def test_connections(used: int, level: str) -> None:
    found, told = tell(connections_finding([Room("the server", used, 100)], None))
    assert (found, f"{used} of 100 of the server" in told) == (level, True)


def test_the_tightest_limit_is_the_one_that_is_told() -> None:
    rooms = [Room("the server", 50, 100), Room("the role shop-1", 9, 10), Room("the database x y", 1, 10)]
    found, told = tell(connections_finding(rooms, None))
    assert (found, "9 of 10 of the role shop-1" in told) == ("warning", True)
    assert 'ALTER ROLE "shop-1" CONNECTION LIMIT' in told


def test_too_few_connections_for_the_workers_that_live() -> None:
    enough = WORKER_MAX * 3
    assert tell(connections_finding([Room("the server", 5, enough)], 3))[0] == "ok"
    found, told = tell(connections_finding([Room("the server", 5, enough - 1)], 3))
    assert (found, f"3 live workers may open up to {WORKER_MAX} each" in told) == ("warning", True)
    rooms = [Room("the server", 5, 1000), Room("the database a b", 0, 20)]
    found, told = tell(connections_finding(rooms, 2))
    assert (found, "the database a b has room for 20" in told) == ("warning", True)
    assert 'ALTER DATABASE "a b" CONNECTION LIMIT' in told


def test_a_server_that_cannot_be_asked() -> None:
    (finding,) = check.unreachable(StoreUnavailable("cannot reach the server (refused); is it running?"))
    assert tell(finding) == ("error", "cannot reach the server (refused) → is it running?")


def test_a_server_too_old_or_unfit_is_asked_nothing_more() -> None:
    answers = {"check_server": [tuple(SOUND._replace(encoding="SQL_ASCII"))]}
    found = drive(check.check_steps(deep=True, pooled=False, latest=LATEST), lambda asked: answers[asked.name])
    assert [finding.level for finding in found] == ["ok", "error"]


# The schema and the rights


def test_no_store(world: RivalWorld) -> None:
    world.rows(f"DROP SCHEMA {world.schema} CASCADE")
    found, told = tell(only(findings(world, deep=True), "schema"))
    assert (found, "penstock migrate" in told) == ("error", True)


@pytest.mark.parametrize(
    ("key", "version", "level", "words"),
    [
        ("schema_version", LATEST - 1, "error", "penstock migrate"),
        ("schema_version", LATEST + 1, "ok", "works with it"),
        ("oldest", LATEST + 1, "error", "upgrade penstock"),
    ],
)
def test_another_version(world: RivalWorld, key: str, version: int, level: str, words: str) -> None:
    world.rows(f"UPDATE meta SET value = {version} WHERE key = '{key}'")
    found, told = tell(only(findings(world), "schema"))
    assert (found, words in told) == (level, True)


@pytest.mark.parametrize("damage", ["DELETE FROM meta", "UPDATE meta SET value = 0"])
def test_a_store_that_does_not_say_its_version(world: RivalWorld, damage: str) -> None:
    before = world.rows("SELECT key, value FROM meta ORDER BY key")
    world.rows(damage)
    found, told = tell(only(findings(world), "schema"))
    assert (found, "upgrade penstock" in told, "run: penstock migrate" in told) == ("error", False, False)
    with pytest.raises(NotAStore, match="does not say of which version"):
        world.store.migrate()
    world.rows(told.partition("put the version back: ")[2])
    assert world.rows("SELECT key, value FROM meta ORDER BY key") == before
    assert only(findings(world), "schema").level == "ok"


@pytest.mark.parametrize("table", ["history", "waiting"])
def test_a_table_that_somebody_dropped(world: RivalWorld, table: str) -> None:
    world.rows(f"DROP TABLE {table}")
    found, told = tell(only(findings(world, deep=True), "schema"))
    assert (found, f"there is no {table}" in told) == ("error", True)


def test_a_role_with_the_documented_rights_is_content(world: RivalWorld, role: str) -> None:
    world.rows(grants_sql(world.schema, role).replace("BEGIN;", "").replace("COMMIT;", ""))
    found = findings(world, deep=True, role=role)
    assert {finding.name for finding in found if finding.level != "ok"} == {"durability"}
    hidden = only(found, "long transactions").message
    assert "could not look at those of other roles" in hidden


def test_a_role_without_any_right(world: RivalWorld, role: str) -> None:
    found, told = tell(only(findings(world, deep=True, role=role), "schema"))
    assert (found, f"penstock migrate --grants {role}" in told) == ("error", True)


def test_single_rights_that_are_missing_are_named(world: RivalWorld, role: str) -> None:
    world.rows(grants_sql(world.schema, role).replace("BEGIN;", "").replace("COMMIT;", ""))
    world.rows(f"REVOKE UPDATE, DELETE ON lease FROM {role}")
    world.rows(f"REVOKE SELECT ON job FROM {role}")
    world.rows(f"REVOKE USAGE ON SEQUENCE token FROM {role}")
    found = findings(world, deep=True, role=role)
    level, told = tell(only(found, "rights"))
    assert (level, "SELECT on job, DELETE/UPDATE on lease, USAGE on token" in told) == ("error", True)
    assert only(found, "integrity").message == "could not look: this role may not read job"


@pytest.mark.parametrize(
    ("sight", "name"),
    [
        ("sees_databases", "connections"),
        ("sees_activity", "long transactions"),
        ("sees_tables", "dead rows"),
        ("sees_slots", "write-ahead log"),
    ],
)
def test_a_view_that_is_closed_is_not_asked(sight: str, name: str) -> None:
    closed: dict[str, Any] = {sight: False}
    answers: dict[str, list[tuple[Any, ...]]] = {
        "check_server": [tuple(SOUND._replace(**closed))],
        "check_rights": [],
        "check_version": [("schema_version", LATEST), ("oldest", LATEST)],
        "check_connections": [("the server", 1, 100)],
        "check_role_connections": [],
        "check_workers": [(1,)],
        "check_transactions": [],
        "check_slots": [],
        "check_tables": [("job", 1, 1, 1, False, False)],
        "read_types": [],
    }
    found = drive(check.check_steps(deep=False, pooled=False, latest=LATEST), lambda asked: answers[asked.name])
    assert "could not look" in only(found, name).message


# What threatens it, on a real server


def test_durability_that_a_role_has_switched_off() -> None:
    settings = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    with Server(18, settings=settings) as server, new_world(server) as safe:
        assert tell(only(findings(safe), "durability"))[0] == "ok"
        safe.rows("CREATE ROLE hasty LOGIN SUPERUSER")
        safe.rows("ALTER ROLE hasty SET synchronous_commit = off")
        found, told = tell(only(findings(safe, role="hasty"), "durability"))
        assert (found, 'ALTER ROLE "hasty" SET synchronous_commit = on' in told) == ("warning", True)
        server.restart(settings={"full_page_writes": "off"})
        found, told = tell(only(findings(safe), "durability"))
        assert (found, "full_page_writes" in told) == ("warning", True)


def test_a_table_that_is_not_logged(world: RivalWorld) -> None:
    world.rows("ALTER TABLE waiting SET UNLOGGED")
    found = [finding for finding in findings(world) if finding.name == "durability"]
    assert "ALTER TABLE waiting SET LOGGED" in tell(found[-1])[1]


def test_a_replication_slot_that_nobody_reads(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_durability, "SLOT_BYTES_MAX", -1)
    world.rows("SELECT pg_create_physical_replication_slot('left_behind', true)")
    try:
        found, told = tell(only(findings(world), "write-ahead log"))
    finally:
        world.rows("SELECT pg_drop_replication_slot('left_behind')")
    assert (found, "pg_drop_replication_slot('left_behind')" in told) == ("warning", True)


def test_the_live_workers_are_counted_against_the_room(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.register("ends")
    world.register("lives")
    world.register("lives too")
    world.heartbeat(session, "inactive")
    monkeypatch.setattr(check_connections, "WORKER_MAX", 60)
    assert "2 live workers may open" in tell(only(findings(world), "connections"))[1]
    world.heartbeat(world.register("one more"))
    world.rows("UPDATE worker SET heartbeat_at = 0 WHERE id LIKE 'lives%'")
    assert tell(only(findings(world), "connections"))[0] == "ok"


@pytest.mark.parametrize("whose", ["role", "database"])
def test_limits_of_the_role_and_of_the_database(world: RivalWorld, role: str, whose: str) -> None:
    world.rows(grants_sql(world.schema, role).replace("BEGIN;", "").replace("COMMIT;", ""))
    name = role if whose == "role" else "postgres"
    world.rows(f"ALTER {whose.upper()} {name} CONNECTION LIMIT {2 if whose == 'role' else 1000}")
    try:
        world.register("lives")
        found, told = tell(only(findings(world, role=role), "connections"))
    finally:
        world.rows(f"ALTER {whose.upper()} {name} CONNECTION LIMIT -1")
    if whose == "role":
        assert (found, f"the role {role} has room for 2" in told) == ("warning", True)
    else:
        assert found == "ok"


def test_clocks_that_disagree(world: RivalWorld) -> None:
    """The server's clock against the one of the machine on which the doctor is called, an hour behind."""

    class Behind(SystemClock):
        def now_us(self) -> int:
            return super().now_us() - 3600 * MICROSECONDS

    store = open_store(world.url)
    try:
        ahead = only(check_store(store, Behind()), "clock")
        agreed = only(check_store(store, SystemClock()), "clock")
    finally:
        store.close()
    assert (ahead.level, "1h ahead of this machine's" in ahead.message) == ("warning", True)
    assert agreed.level == "ok"


# What slows it down


def test_a_transaction_that_is_open_for_long(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "OPEN_SECONDS_MAX", -1.0)
    with world.rival() as rival:
        rival.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        rival.execute(b"SELECT count(*) FROM job")
        pid = rival.info.backend_pid
        found, told = tell(only(findings(world), "long transactions"))
    assert (found, f"process {pid} " in told, f"pg_terminate_backend({pid})" in told) == ("warning", True, True)


def test_what_keeps_a_transaction_open_and_how_to_end_it() -> None:
    rows: list[tuple[Any, ...]] = [
        ("the prepared transaction 'x'", 7200.0, "ROLLBACK PREPARED 'x'"),
        ("process 1", 301.0, ""),
    ]
    found, told = tell(check.transactions_finding(rows, True, "worker"))
    assert (found, "open for 2h" in told, "ROLLBACK PREPARED 'x'" in told, "others (2" in told) == (
        "warning",
        *[True] * 3,
    )
    assert tell(check.transactions_finding(rows[:0], True, "worker"))[0] == "ok"
    assert tell(check.transactions_finding([("process 1", 300.0, "")], False, "worker"))[0] == "ok"


def test_autovacuum_that_is_off_for_a_table(world: RivalWorld) -> None:
    world.rows("ALTER TABLE lease SET (autovacuum_enabled = off)")
    found, told = tell(only(findings(world), "autovacuum"))
    assert (found, "ALTER TABLE lease RESET" in told) == ("warning", True)


def test_autovacuum_that_is_off_everywhere() -> None:
    found, told = tell(check.autovacuum_finding(False, []))
    assert (found, "postgresql.conf" in told) == ("warning", True)


@pytest.mark.parametrize(
    ("live", "dead", "level"),
    [(0, 50_000, "ok"), (0, 50_001, "warning"), (10**6, 10**6, "ok"), (10**6, 10**7, "warning")],
)
def test_dead_rows(live: int, dead: int, level: str) -> None:
    found, told = tell(check.dead_rows_finding({"waiting": (live, dead), "lease": (0, 0)}))
    assert (found, f"{dead:,} beside {live:,} live" in told, "VACUUM waiting in" in told) == (
        level,
        True,
        level != "ok",
    )


# What must hold


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("DELETE FROM waiting WHERE id = '{id}'", "a job that is in no state"),
        ("DELETE FROM job WHERE id = '{id}'", "in waiting without a job"),
        ("INSERT INTO outcome (id, state, attempt, finished_at) VALUES ('{id}', 1, 1, 0)",
         "a job in outcome and waiting"),
        ("UPDATE job SET due_at = due_at + 1 WHERE id = '{id}'", "waiting at another place than its job"),
        ("INSERT INTO lease (token, id, attempt, session, claimed_at) VALUES (1, gen_random_uuid(), 1, 1, 0)",
         "in lease without a job"),
    ],
)  # fmt: skip
def test_broken_pointers(world: RivalWorld, damage: str, fault: str) -> None:
    broken, _ = world.add_many(2)
    world.rows(damage.format(id=broken))
    found, told = tell(only(findings(world, deep=True), "integrity"))
    assert (found, f"1 × {fault}" in told) == ("error", True)
    assert only(findings(world), "integrity").level == "ok"


def test_a_table_that_is_dropped_while_it_is_looked_at(world: RivalWorld) -> None:
    """As a restore does it: the list of the tables is of a moment at which it was still there."""
    with world.rival() as conn:
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        world.rows(f"DROP TABLE {world.schema}.once")
        rows = conn.execute(sql("check_tables", world.schema).encode()).fetchall()
    found = drive(check._tables(SOUND), lambda asked: rows)
    assert "once" in {name for name, *_ in rows}
    assert {finding.level for finding in found} == {"ok"}


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE step SET open = open + 1 WHERE step = 0", "a workflow with a step that miscounts its jobs"),
        ("UPDATE workflow SET open = open - 1", "a workflow that miscounts its steps"),
        ("UPDATE step SET pending = 2 WHERE step = 1", "a workflow with a step that miscounts those before it"),
    ],
)
def test_workflows_that_miscount(world: RivalWorld, damage: str, fault: str) -> None:
    flow = Flow(world, ("a", 2), ("b", 1, ("a",))).enqueue()
    assert "workflows" not in {finding.name for finding in findings(world, deep=True)}
    world.rows(damage)
    found, told = tell(only(findings(world, deep=True), "workflows"))
    assert (found, f"1 × {fault}, such as {flow.id} →" in told) == ("error", True)
    assert told.endswith(f"penstock workflows show {flow.id}")
