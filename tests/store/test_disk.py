from __future__ import annotations

import pytest

from penstock.store import disk

MOUNTS = (
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 27 0:1 / /srv/jobs rw shared:1 master:2 - xfs /dev/b rw\n"
    "31 27 0:2 / /srv/jobs rw - nfs server:/x rw\n"
    "32 27 0:3 / /a\\040b rw - tmpfs none rw\n"
)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/srv", "ext4"),
        ("/srv/jobs", "nfs"),
        ("/srv/jobs/deep", "nfs"),
        ("/srv/jobs2", "ext4"),
        ("/a b", "tmpfs"),
    ],
)
def test_the_deepest_and_latest_mount_counts(monkeypatch: pytest.MonkeyPatch, folder: str, kind: str) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: MOUNTS)
    assert disk.file_system(folder) == kind


def test_the_options_of_a_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: "27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/a rw,nobarrier\n")
    assert disk.mount_of("/srv") == disk.Mount("ext4", frozenset({"rw", "relatime", "nobarrier"}))


def test_without_a_table_of_mounts_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: "")
    assert disk.file_system("/") is None


def test_the_table_of_this_machine_is_read() -> None:
    assert disk.file_system("/nowhere/at/all") == disk.file_system("/")
    assert disk.file_system("/proc") in ("proc", None)
