"""Where servers may live, and that nothing is left of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peer_bench import machine, servers
from benchmarks.peer_bench.servers import NoPlace, Servers, real_disk


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The file systems of folders by their names; every folder is open to servers."""
    found: dict[str, str] = {}
    monkeypatch.setattr(servers, "file_system", lambda folder: found.get(Path(folder).name, "ext4"))
    monkeypatch.setattr(servers, "open_to_all", lambda folder: Path(folder).name != "closed")
    return found


def test_a_folder_in_memory_is_refused_and_the_fix_named(tmp_path: Path, kinds: dict[str, str]) -> None:
    kinds["memory"] = "tmpfs"
    with pytest.raises(NoPlace, match=r"memory is on tmpfs, in memory, .*: name a folder on a real disk, .* DATA="):
        real_disk([tmp_path / "memory"])


def test_the_first_folder_on_a_disk_is_taken_and_made(tmp_path: Path, kinds: dict[str, str]) -> None:
    kinds["memory"] = "tmpfs"
    found = real_disk([tmp_path / "memory", tmp_path / "new" / "disk", tmp_path / "other"])
    assert found == (tmp_path / "new" / "disk").resolve()
    assert found.is_dir()
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("kinds")
def test_a_closed_folder_is_passed_over_when_servers_run_as_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert real_disk([tmp_path / "closed", tmp_path / "open"]).name == "open"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert real_disk([tmp_path / "closed", tmp_path / "open"]).name == "closed"


def test_servers_are_durable_empty_on_demand_and_gone_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    with Servers(tmp_path, with_redis=False) as made:
        assert made.postgres
        assert made.settings["fsync"] == made.settings["synchronous_commit"] == "on"
        assert made.versions["PostgreSQL"].startswith("18.")
        made.empty()
        with made.postgres.connect("contest") as db:
            db.execute("CREATE TABLE left_behind ()")
            (made.data / "left_behind").touch()
            made.empty()
        made.settle()
        with made.postgres.connect("contest") as db:
            assert db.execute("SELECT to_regclass('left_behind')").fetchone() == (None,)
        assert list(made.data.iterdir()) == []
        folders = [made.folder, made.postgres.folder.path]
    assert [folder.exists() for folder in folders] == [False, False]


def test_the_machine_is_described_with_the_time_of_a_flush(tmp_path: Path) -> None:
    found = machine.describe(tmp_path)
    assert found["disk_flush_ms"] >= 0
    assert found["cores"] >= 1
    assert found["memory_gib"] > 0


def test_a_folder_without_git_has_no_revision(tmp_path: Path) -> None:
    assert machine.revision(tmp_path) == "unknown"
