"""A copy of a store, such as a backup, is read without being changed; a store in use is read as it is now."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from penstock import App
from tests.cli.conftest import Call, run_all

LOOKING = [
    ["counts"], ["jobs", "list"], ["dead", "list"], ["queues"], ["workers"], ["schedules", "list"],
    ["workflows", "list"], ["health"], ["doctor"], ["doctor", "--deep"], ["migrate", "--dry-run"],
]  # fmt: skip


@pytest.fixture
def backup(app: App, tmp_path: Path) -> Path:
    app.enqueue("greet", {"name": "x"})
    app.enqueue("boom", {})
    run_all(app)
    db = apsw.Connection(app.store.info.address)
    db.execute("VACUUM INTO ?", (str(tmp_path / "backup.db"),))
    db.close()
    return tmp_path / "backup.db"


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_what_only_looks_leaves_a_copy_as_it_is(call: Call, backup: Path, command: list[str]) -> None:
    before = backup.read_bytes()
    done = call(*command, "--store", f"sqlite:///{backup}")
    assert done.code in (0, 1)
    assert "error" not in done.err
    assert backup.read_bytes() == before
    assert [name for name in os.listdir(backup.parent) if name.startswith("backup.db-")] == []


def test_a_copy_is_read_whole_and_can_be_used_afterwards(call: Call, backup: Path) -> None:
    address = f"sqlite:///{backup}"
    counts = call("counts", "--json", "--store", address).json["counts"]
    assert (counts["completed"], counts["dead"]) == (1, 1)
    call("enqueue", "greet", '{"name": "y"}', "--store", address)
    counts = call("counts", "--json", "--store", address).json["counts"]
    assert (counts["pending"], counts["completed"], counts["dead"]) == (1, 1, 1)
