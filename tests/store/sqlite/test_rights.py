"""Who may open the files that a store consists of, and who may keep others from writing."""

from __future__ import annotations

import grp
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.domain.errors import StoreReadOnly
from penstock.store import disk
from penstock.store.sqlite import check
from penstock.store.sqlite.connection.rights import lock_mode
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, enqueue, stored_ids

ENDS = ("", "-wal", "-shm", "-lock")
NOBODY = 65534
GROUP = 54_321

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for other users")

ACT = """
import fcntl, json, os, sys
from penstock.domain.errors import StoreReadOnly
from penstock.store.contract import CheckStore, EnqueueJobs, JobSpec, ListJobs, NewJob
from penstock.store.sqlite.connection.statements import migrations, sql, sql_files
from penstock.store.sqlite.store import SqliteStore
# What is loaded late is loaded now: not every user may read the code.
migrations(), [sql(name) for name in sql_files()]
uid, gid, groups, mask, path, act = json.loads(sys.argv[1])
os.setgroups(groups)
os.setgid(gid)
os.setuid(uid)
os.umask(mask)
store = SqliteStore(path)
try:
    if act == "lock":
        fcntl.flock(os.open(path + "-lock", os.O_RDONLY), fcntl.LOCK_EX)
    elif act == "read":
        print(len(store.list_jobs(ListJobs()).wait()))
    elif act == "check":
        print([one.message for one in store.check_store(CheckStore()).wait() if one.level == "error"])
    elif act == "fixes":
        found = store.check_store(CheckStore()).wait()
        print(json.dumps([one.fix for one in found if one.name in ("rights", "lock file") and one.level != "ok"]))
    elif act in ("look", "read what is there"):
        store = SqliteStore(path, create=False)
        print(store.migration_status().current if act == "look" else len(store.list_jobs(ListJobs()).wait()))
    else:
        store.enqueue_jobs(EnqueueJobs([NewJob(act, "{}", JobSpec(type="t"))])).wait()
        print("stored")
except (PermissionError, StoreReadOnly) as error:
    print(type(error).__name__, error if act in ("look", "read what is there") else "")
store.close()
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Where every user comes; not in tmp_path, which only its owner may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "jobs.db"


def act(path: Path, what: str, uid: int = NOBODY, gid: int = NOBODY, groups: tuple[int, ...] = ()) -> str:
    given = json.dumps([uid, gid, groups, 0o022, str(path), what])
    done = subprocess.run([sys.executable, "-c", ACT, given], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


def modes(path: Path) -> dict[str, int]:
    return {end: stat.S_IMODE(os.stat(f"{path}{end}").st_mode) for end in ENDS if os.path.exists(f"{path}{end}")}


@pytest.fixture
def mask() -> Iterator[Callable[[int], Any]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("bits", [0o000, 0o002, 0o022, 0o077, 0o277, 0o777])
def test_a_new_store_is_its_owners_alone(
    make_store: MakeStore, path: Path, mask: Callable[[int], Any], bits: int
) -> None:
    mask(bits)
    enqueue(make_store())
    assert modes(path) == dict.fromkeys(ENDS, 0o600)


def test_the_rights_of_a_store_that_is_there_stay(make_store: MakeStore, path: Path) -> None:
    path.touch()
    path.chmod(0o664)
    enqueue(make_store())
    assert modes(path) == {"": 0o664, "-wal": 0o664, "-shm": 0o664, "-lock": 0o660}


@pytest.mark.parametrize(
    ("store", "lock"),
    [(0o600, 0o600), (0o644, 0o600), (0o640, 0o600), (0o660, 0o660), (0o664, 0o660), (0o666, 0o666), (0o602, 0o606)],
)
def test_the_lock_is_for_those_who_may_write(store: int, lock: int) -> None:
    assert lock_mode(store) == lock


def test_a_lock_file_that_was_open_to_all_is_narrowed(make_store: MakeStore, path: Path) -> None:
    Path(f"{path}-lock").touch()
    Path(f"{path}-lock").chmod(0o644)
    enqueue(make_store())
    assert modes(path)["-lock"] == 0o600


def test_a_lock_file_follows_a_store_that_was_opened_to_a_group(make_store: MakeStore, path: Path) -> None:
    store = make_store()
    enqueue(store)
    store.close()
    path.chmod(0o660)
    enqueue(make_store())
    assert modes(path)["-lock"] == 0o660


def test_another_file_that_was_put_there_keeps_its_rights(make_store: MakeStore, path: Path, tmp_path: Path) -> None:
    other, lock = tmp_path / "other", Path(f"{path}-lock")
    other.touch()
    other.chmod(0o644)
    lock.hardlink_to(other)
    enqueue(make_store())
    lock.unlink()
    lock.symlink_to(other)
    with pytest.raises(StoreReadOnly, match="lock file"):
        enqueue(make_store())
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


# Other users


@as_root
def test_nobody_else_can_keep_the_owner_from_writing(place: Path) -> None:
    store = SqliteStore(str(place))
    enqueue(store)
    assert act(place, "lock") == "PermissionError"
    for end in ("", "-wal", "-shm"):  # Not even those who were allowed to read.
        os.chmod(f"{place}{end}", 0o644)
    assert act(place, "lock") == "PermissionError"
    assert act(place, "read") == "1"
    assert act(place, "job") == "StoreReadOnly"
    enqueue(store)
    assert act(place, "read") == "2"
    store.close()


@as_root
@pytest.mark.parametrize("what", ["look", "read what is there"])
@pytest.mark.parametrize("inner", ["", "more/folders"])
def test_a_folder_that_is_closed_is_not_told_as_no_store(place: Path, what: str, inner: str) -> None:
    closed = place.with_name("closed")
    path = closed / inner / "jobs.db"
    path.parent.mkdir(parents=True)
    store = SqliteStore(str(path))
    enqueue(store)
    store.close()
    closed.chmod(0o700)
    said = act(path, what)
    assert said.startswith("StoreReadOnly")
    assert f"may not enter {closed}" in said
    assert act(place.with_name("none") / "jobs.db", "look") == "0"


@as_root
@pytest.mark.parametrize("inner", ["", "more/folders"])
def test_the_doctor_does_not_take_a_closed_folder_for_a_missing_one(place: Path, inner: str) -> None:
    closed = place.with_name("closed")
    path = closed / inner / "jobs.db"
    path.parent.mkdir(parents=True)
    path.touch()
    closed.chmod(0o700)
    found = act(path, "check")
    assert "does not exist" not in found
    assert "there is no store" not in found
    assert f"may not write to the folder {closed}" in found


@as_root
def test_a_group_shares_a_store(place: Path) -> None:
    place.parent.chmod(0o770)
    os.chown(place.parent, NOBODY, GROUP)
    place.touch()
    os.chown(place, NOBODY, GROUP)
    place.chmod(0o660)
    assert GROUP not in {group.gr_gid for group in grp.getgrall()}
    assert act(place, "one", uid=NOBODY - 1, gid=NOBODY - 1, groups=(GROUP,)) == "stored"
    assert act(place, "two", uid=NOBODY - 2, gid=NOBODY - 2, groups=(GROUP,)) == "stored"
    assert act(place, "three", uid=NOBODY, gid=GROUP) == "stored"
    assert act(place, "lock", uid=NOBODY - 1, gid=NOBODY - 1, groups=(GROUP,)) == ""
    store = SqliteStore(str(place))
    assert stored_ids(store) == {"one", "two", "three"}
    store.close()


@as_root
def test_what_root_makes_beside_a_store_is_the_owners(place: Path) -> None:
    place.touch()
    os.chown(place, NOBODY, NOBODY)
    place.chmod(0o600)
    place.parent.chmod(0o700)
    os.chown(place.parent, NOBODY, NOBODY)
    store = SqliteStore(str(place))
    enqueue(store)
    assert {(os.stat(f"{place}{end}").st_uid, os.stat(f"{place}{end}").st_gid) for end in ENDS} == {(NOBODY, NOBODY)}
    assert act(place, "job") == "stored"
    store.close()


# The doctor


def findings(path: Path) -> list[tuple[str, str]]:
    found = check.check_store(str(path), "durable", None, False)
    return [(finding.name, finding.fix or "") for finding in found if finding.name in ("rights", "lock file")]


def test_the_doctor_names_what_is_open_to_others(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n")
    store = SqliteStore(str(place))
    enqueue(store)
    assert findings(place) == [("rights", "")]
    place.chmod(0o644)
    assert findings(place) == [("rights", f"chmod o-r {place}")]
    os.chmod(f"{place}-lock", 0o644)
    assert findings(place) == [("rights", f"chmod o-r {place}"), ("lock file", f"chmod 600 {place}-lock")]
    place.parent.chmod(0o700)
    assert findings(place) == [("rights", "")]
    store.close()


@as_root
@pytest.mark.parametrize("mode", [0o644, 0o666], ids=["read", "write"])
def test_no_fix_takes_away_what_another_one_gives(place: Path, mode: int) -> None:
    """Of one who comes in only because everybody may: whoever follows all that is said can use the store."""
    store = SqliteStore(str(place))
    enqueue(store)
    store.close()
    place.chmod(mode)
    fixes = json.loads(act(place, "fixes"))
    assert [fix for fix in fixes if "chown" in fix] == []
    way = "run as root, to whom it belongs, or share the store through a group (docs/sqlite.md, 'Who may open it')"
    assert fixes[0] == way  # Of the folder.
    (narrower,) = [fix for fix in fixes if "chmod" in fix]
    assert narrower == f"{way}; then: chmod o-{'r' if mode == 0o644 else 'w'} {place}"
    if mode == 0o644:
        assert fixes == [way, way, narrower]
