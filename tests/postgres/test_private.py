"""The folder of private servers does not outlive them, wherever it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nursery.nursery import ROOT
from tests.postgres import private, processes
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


MAKE = """
import sys
from pathlib import Path
from tests.postgres import private
private._parent = lambda: Path(sys.argv[1])
folder = private.PrivateFolder()
folder.write("text", "something")
print("made", flush=True)
sys.stdin.read()
"""


def test_it_is_gone_also_after_its_maker_was_killed(parent: Path) -> None:
    command = [sys.executable, "-c", MAKE, str(parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as maker:
        assert maker.stdout
        assert maker.stdout.readline() == b"made\n"
        assert len(list(parent.iterdir())) == 1
        maker.kill()
    processes.wait_until(lambda: not list(parent.iterdir()), "the folder is gone")
