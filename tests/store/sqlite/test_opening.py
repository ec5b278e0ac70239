"""Opening: which libraries, files and schemas are refused, and in what words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock.domain import errors
from penstock.store.contract import CheckStore
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, enqueue, stored_ids

# The library


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.52.0", "3.7.17"])
def test_unsafe_libraries_are_refused(version: str) -> None:
    with pytest.raises(errors.UnsafeSQLite, match=version):
        connection.check_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.53.0", "3.53.1", "4.0.0"])
def test_safe_libraries_are_accepted(version: str) -> None:
    connection.check_library(version)


def test_no_file_is_opened_with_an_unsafe_library(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.45.0")
    with pytest.raises(errors.UnsafeSQLite):
        enqueue(store)
    assert not path.exists()


# The file


def test_nothing_is_opened_before_the_first_use(store: SqliteStore, path: Path) -> None:
    assert not path.exists()
    enqueue(store)
    assert path.exists()


def test_a_missing_store_is_made_only_if_that_is_wanted(make_store: MakeStore, path: Path) -> None:
    store = make_store(create=False)
    with pytest.raises(errors.StoreMissing, match="penstock migrate"):
        stored_ids(store)
    assert not path.exists()
    store.migrate()
    assert stored_ids(store) == set()


@pytest.mark.parametrize("content", [b"this is a letter, not a database\n" * 100, b"\x00" * 5000])
def test_a_file_that_is_not_a_database(store: SqliteStore, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for use in (lambda: enqueue(store), lambda: stored_ids(store), store.migration_status, store.migrate):
        with pytest.raises(errors.NotAStore, match="not an SQLite database"):
            use()
    assert path.read_bytes() == content


def test_a_damaged_database(store: SqliteStore, path: Path) -> None:
    enqueue(store)
    store.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(errors.StoreError):
        enqueue(SqliteStore(str(path)))


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreReadOnly, match="folder exists"):
        enqueue(SqliteStore(str(tmp_path / "no" / "jobs.db")))


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreReadOnly):
        enqueue(SqliteStore(str(tmp_path)))


WITHOUT_RIGHTS = """
import json, os, sys
from penstock.domain.errors import PenstockError
from penstock.store.contract import EnqueueJobs, ListJobs, JobSpec, NewJob
from penstock.store.sqlite.store import SqliteStore

folder, case = sys.argv[1:]
path = os.path.join(folder, "jobs.db")
job = EnqueueJobs([NewJob("one", "{}", JobSpec(type="t"))])
store = SqliteStore(path)
store.enqueue_jobs(job).wait()
store.list_jobs(ListJobs()).wait()
store.close()
if case == "no file":
    os.remove(path)
else:
    os.chmod(path, 0o444)
os.chmod(folder, 0o555)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
said = []
for use in (lambda s: s.enqueue_jobs(job).wait(), lambda s: s.list_jobs(ListJobs()).wait()):
    store = SqliteStore(path)
    try:
        use(store)
        said.append(["nothing", ""])
    except PenstockError as error:
        said.append([type(error).__name__, str(error)])
    store.close()
print(json.dumps(said))
"""


@pytest.mark.parametrize("case", ["no file", "read-only file"])
def test_a_folder_or_file_without_rights(case: str) -> None:
    with tempfile.TemporaryDirectory() as outer:
        # Not in tmp_path, which only its owner may enter: the child gives up its rights if it has them all.
        Path(outer).chmod(0o755)
        folder = Path(outer) / "store"
        folder.mkdir(mode=0o755)
        command = [sys.executable, "-c", WITHOUT_RIGHTS, str(folder), case]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        folder.chmod(0o755)
    assert done.stderr == ""
    for name, message in json.loads(done.stdout):
        assert name == "StoreReadOnly"
        assert str(folder) in message


def test_a_file_system_without_write_ahead_logging(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stubborn(apsw.Connection):
        def execute(self, statements: str, *args: object, **kwargs: object) -> apsw.Cursor:
            return super().execute("SELECT 'delete'" if "journal_mode" in statements else statements)

    monkeypatch.setattr(apsw, "Connection", Stubborn)
    with pytest.raises(errors.StoreError, match="local disk"):
        enqueue(store)


# The words


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.BusyError("x"), errors.StoreBusy),
        (apsw.FullError("x"), errors.StoreFull),
        (apsw.ReadOnlyError("x"), errors.StoreReadOnly),
        (apsw.PermissionsError("x"), errors.StoreReadOnly),
        (apsw.CorruptError("x"), errors.NotAStore),
        (apsw.SQLError("x"), errors.StoreVersionError),
        (apsw.ConstraintError("x"), errors.StoreRefused),
        (apsw.TooBigError("x"), errors.StoreRefused),
        (apsw.IOError("x"), errors.StoreError),
        (apsw.MisuseError("x"), errors.StoreError),
    ],
)
def test_every_error_names_the_file(error: apsw.Error, kind: type[errors.StoreError]) -> None:
    said = translate(error, "/data/jobs.db")
    assert type(said) is kind
    assert str(said).startswith("/data/jobs.db: ")


def test_tables_changed_by_hand(store: SqliteStore, make_store: MakeStore) -> None:
    enqueue(store)
    with store.transaction() as tx:
        tx.execute("ALTER TABLE penstock_job RENAME COLUMN payload TO load")
    with pytest.raises(errors.StoreVersionError, match="changed by hand"):
        enqueue(make_store())
    with pytest.raises(errors.StoreVersionError, match="changed by hand"):
        stored_ids(make_store())


@pytest.fixture
def cut_off(path: Path, tmp_path: Path) -> Path:
    """A file whose first tables were being written when the power failed: half of them, and the journal to undo it."""
    db = apsw.Connection(str(tmp_path / "other.db"))
    db.execute("PRAGMA cache_size = 1; BEGIN; CREATE TABLE other (value BLOB)").fetchall()
    for _ in range(50):
        db.execute("INSERT INTO other VALUES (randomblob(3000))")
    for ending in ("", "-journal"):
        shutil.copy(tmp_path / f"other.db{ending}", f"{path}{ending}")
    db.close()
    return path


def test_a_file_that_was_cut_off_while_it_was_made_can_be_made(cut_off: Path, make_store: MakeStore) -> None:
    store = make_store()
    assert store.migrate().current == 0
    assert store.migration_status().pending == []
    enqueue(store)


def test_a_look_at_a_file_that_was_cut_off_says_so_and_changes_nothing(cut_off: Path, make_store: MakeStore) -> None:
    before = cut_off.read_bytes()
    with pytest.raises(errors.StoreReadOnly, match=r"cut off .*; .*: penstock migrate --store sqlite:///.*jobs.db"):
        make_store(create=False).migration_status()
    [found] = [one for one in make_store().check_store(CheckStore(deep=True)).wait() if "cut off" in one.message]
    assert found.level == "error"
    assert cut_off.read_bytes() == before


def test_closing_waits_for_a_read_that_is_under_way(store: SqliteStore) -> None:
    enqueue(store)
    begun, go_on = threading.Event(), threading.Event()

    def read(db: apsw.Connection, now: int) -> list[Any]:
        rows = db.execute("SELECT 1 UNION ALL SELECT 2")
        first = next(rows)
        begun.set()
        go_on.wait(30)
        return [first, *rows]

    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(store._file().read(read)))
    reading.start()
    assert begun.wait(30)
    closing = threading.Thread(target=store.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    go_on.set()
    reading.join(30)
    closing.join(30)
    assert found == [(1,), (2,)]
