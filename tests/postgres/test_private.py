"""The folder of private servers does not outlive them, wherever it is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import private
from tests.postgres.private import PrivateFolder


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place where only its owner, root where the tests are root's, may make and remove folders."""
    made = Path(tempfile.mkdtemp(dir=private._parent()))
    made.chmod(0o755)
    monkeypatch.setattr(private, "_parent", lambda: made)
    yield made
    shutil.rmtree(made)


def test_it_is_gone_also_from_where_only_its_maker_may_remove_it(parent: Path) -> None:
    folder = PrivateFolder()
    (folder.path / "inner").mkdir()
    folder.write("inner/text", "something")
    folder.own(folder.path / "inner")
    (folder.path / "link").symlink_to(parent)
    assert [entry.name for entry in parent.iterdir()] == [folder.path.name]
    folder.close()
    assert list(parent.iterdir()) == []
