"""Which file is at a path, with and without the call that leaves its times alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from penstock.store.sqlite import identity
from penstock.store.sqlite.identity import file_identity


@pytest.fixture(params=["statx", "stat", "statx refused"])
def _by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "stat":
        monkeypatch.setattr(identity, "_statx", None)
    elif request.param == "statx refused":
        monkeypatch.setattr(identity, "_statx", lambda *_: -1)


@pytest.mark.usefixtures("_by")
def test_a_file_is_the_same_until_another_is_in_its_place(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "copy.db"
    assert file_identity(os.fsencode(path)) is None
    path.write_text("one")
    first = file_identity(os.fsencode(path))
    path.write_text("two, and longer")
    (tmp_path / "link.db").hardlink_to(path)
    assert first is not None
    assert file_identity(os.fsencode(path)) == file_identity(os.fsencode(tmp_path / "link.db")) == first
    shutil.copy(path, other)
    other.replace(path)
    assert file_identity(os.fsencode(path)) not in (first, None)


def test_linux_is_asked_without_the_times_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """stat() asks for them, and then the next write and sync cost more."""
    monkeypatch.setattr(os, "stat", lambda *_: pytest.fail("asked by stat()"))
    assert file_identity(os.fsencode(tmp_path)) is not None
