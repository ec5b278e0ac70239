"""The schema: versions that fit, versions that do not, and many processes that migrate at once."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from penstock.domain.errors import NotAStore, StoreError, StoreVersionError
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.statements import migrations
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, enqueue, stored_ids

LATEST = migrations()[-1][0]


def change(path: Path, *statements: str) -> None:
    db = apsw.Connection(str(path))
    try:
        for statement in statements:
            db.execute(statement)
    finally:
        db.close()


def test_versions_are_numbered_without_gaps() -> None:
    assert [version for version, _, _ in migrations()] == list(range(1, LATEST + 1))


def test_status_before_and_after(store: SqliteStore, path: Path) -> None:
    before = store.migration_status()
    assert (before.current, before.latest) == (0, LATEST)
    assert before.pending[0].startswith("0001_")
    assert not path.exists()
    assert store.migrate() == before
    assert store.migration_status().current == LATEST
    assert store.migration_status().pending == []
    enqueue(store)
    store.migrate()
    assert len(stored_ids(store)) == 1


def test_asking_for_the_status_changes_nothing_in_the_file(store: SqliteStore, path: Path) -> None:
    change(path, "CREATE TABLE mine (x)", "INSERT INTO mine VALUES (1)")
    before = path.read_bytes()
    assert store.migration_status().current == 0
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_tables_of_others_stay(store: SqliteStore, path: Path) -> None:
    change(path, "CREATE TABLE mine (x)", "INSERT INTO mine VALUES (1)")
    enqueue(store)
    with store.transaction() as tx:
        assert tx.execute("SELECT x FROM mine") == [(1,)]


def test_a_newer_schema_is_refused(make_store: MakeStore, path: Path) -> None:
    enqueue(make_store())
    change(path, f"UPDATE penstock_meta SET value = {LATEST + 1}")
    for use in (lambda: enqueue(make_store()), make_store().migration_status, make_store().migrate):
        with pytest.raises(StoreVersionError, match="upgrade penstock"):
            use()


def test_a_newer_schema_that_this_version_can_work_with_is_used_and_left_as_it_is(
    make_store: MakeStore, path: Path
) -> None:
    enqueue(make_store())
    change(
        path, f"UPDATE penstock_meta SET value = {LATEST + 1} WHERE key = 'schema_version'",
        "ALTER TABLE penstock_job ADD COLUMN of_the_future TEXT",
    )  # fmt: skip
    store = make_store()
    enqueue(store)
    assert len(stored_ids(store)) == 2
    assert store.migrate().current == store.migration_status().current == LATEST + 1


def test_a_schema_without_a_version_is_refused(make_store: MakeStore, path: Path) -> None:
    enqueue(make_store())
    change(path, "DELETE FROM penstock_meta")
    with pytest.raises(NotAStore, match="does not say of which version"):
        enqueue(make_store())


def test_a_migration_that_fails_leaves_the_old_schema(
    make_store: MakeStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(make_store())
    more = [*migrations(), (LATEST + 1, "bad", "CREATE TABLE penstock_extra (x); CREATE TABLE penstock_job (x);")]
    with monkeypatch.context() as patched:
        patched.setattr(connection, "migrations", lambda: more)
        with pytest.raises(StoreError):
            enqueue(make_store())
    store = make_store()
    assert store.migration_status().current == LATEST
    with store.transaction() as tx:
        assert tx.execute("SELECT name FROM sqlite_schema WHERE name = 'penstock_extra'") == []


def test_a_later_migration_is_applied_to_an_older_store(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    enqueue(make_store())
    more = [*migrations(), (LATEST + 1, "0009_more", "CREATE TABLE penstock_extra (x);")]
    monkeypatch.setattr(connection, "migrations", lambda: more)
    store = make_store()
    assert store.migration_status().pending == ["0009_more"]
    store.migrate()
    assert store.migration_status().current == LATEST + 1
    assert len(stored_ids(store)) == 1


def test_workers_of_the_first_version_count_as_patient_for_thirty_seconds(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(connection, "migrations", lambda: migrations()[:1])
        old = make_store()
        with old.transaction() as tx:
            tx.execute(
                "INSERT INTO penstock_worker (id, host, pid, version, status, slots, capabilities, types, started_at, "
                """heartbeat_at) VALUES ('old', 'h', 1, '0.1', 'active', 5, '["general"]', '["a"]', 1, 1)"""
            )
        old.close()
    (worker,) = make_store().list_workers().wait()
    assert (worker.id, worker.stale_after, worker.types, worker.stale) == ("old", 30.0, ("a",), True)


def schema_of(path: Path) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(path))
    try:
        return [*db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name"),
                *db.execute("SELECT * FROM penstock_meta")]  # fmt: skip
    finally:
        db.close()


@pytest.mark.parametrize("applied", range(LATEST))
def test_the_sql_of_a_migration_run_by_hand_leaves_the_same_store(
    applied: int, make_store: MakeStore, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if applied:
        with monkeypatch.context() as patched:
            patched.setattr(connection, "migrations", lambda: migrations()[:applied])
            make_store().migrate()
    script = make_store().migration_script()
    change(path, script)
    other = SqliteStore(str(tmp_path / "other.db"))
    other.migrate()
    other.close()
    assert schema_of(path) == schema_of(tmp_path / "other.db")
    store = make_store()
    assert (store.migration_status().current, store.migration_script()) == (LATEST, "")
    enqueue(store)


def test_jobs_from_before_there_were_turns_have_theirs(make_store: MakeStore, path: Path) -> None:
    before = 5
    change(
        path, *(text for version, _, text in migrations() if version <= before),
        f"UPDATE penstock_meta SET value = {before}",
        "INSERT INTO penstock_lane VALUES (1, 'task', 'default', 'general', '')",
        "INSERT INTO penstock_gate (gate, name, most, origin) VALUES (1, 'key:a', 1, 'key:a')",
        *(
            "INSERT INTO penstock_job (seq, id, lane, priority, due_at, created_at, payload, tenant) "
            f"VALUES ({seq}, 'job-{seq}', 1, 0, 1, 1, '{{}}', {tenant})"
            for seq, tenant in enumerate(("NULL", """'{"org":"acme"}'""", """'{"org":"beta"}'""", "NULL"), start=1)
        ),
        "INSERT INTO penstock_ready (lane, priority, due_at, seq) VALUES (1, 0, 1, 1), (1, 0, 1, 2)",
        "INSERT INTO penstock_parked (gate, lane, priority, due_at, seq) VALUES (1, 1, 0, 1, 3), (1, 1, 0, 1, 4)",
    )  # fmt: skip
    store = make_store()
    assert store.migrate().current == before
    with store.transaction() as tx:
        assert tx.execute("SELECT seq, org FROM penstock_ready ORDER BY seq") == [(1, None), (2, "acme")]
        assert tx.execute("SELECT seq, org FROM penstock_parked ORDER BY seq") == [(3, "beta"), (4, "")]


def test_tenants_from_before_they_had_columns_keep_their_jobs(make_store: MakeStore, path: Path) -> None:
    before = 14
    tenants = ["NULL", """'{"org":"acme"}'""", """'{"org":"acme","workspace":"eu"}'""", "'{'"]
    change(
        path, *(text for version, _, text in migrations() if version <= before),
        f"UPDATE penstock_meta SET value = {before}",
        *(
            "INSERT INTO penstock_job (seq, id, lane, priority, due_at, created_at, payload, tenant) "
            f"VALUES ({seq}, 'job-{seq}', 1, 0, 1, 1, '{{}}', {tenant})"
            for seq, tenant in enumerate(tenants, start=1)
        ),
    )  # fmt: skip
    store = make_store()
    store.migrate()
    with store.transaction() as tx:
        found = tx.execute("SELECT org, workspace FROM penstock_job ORDER BY seq")
    assert found == [(None, None), ("acme", None), ("acme", "eu"), ("{", None)]
