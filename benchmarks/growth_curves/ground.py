"""Where a run takes place: a folder on a real disk, and a private PostgreSQL if that engine is measured.

Both go with all that is in them when the run ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.growth_curves.beds import StoreBed, postgres_bed, sqlite_bed
from benchmarks.growth_curves.catalogue import Engine
from benchmarks.peer_bench.servers import SETTINGS, NoPlace, real_disk
from benchmarks.peer_bench.session import usual_places
from tests.postgres.private import PrivateFolder
from tests.postgres.server import Server

GIB = 2**30


@dataclass(frozen=True)
class Ground:
    """Beds are made here. `place` is the folder in which everything lives."""

    place: Path
    files: Path
    server: Server | None

    def bed(self, engine: Engine) -> contextlib.AbstractContextManager[StoreBed]:
        if engine == "sqlite":
            return sqlite_bed(self.files)
        assert self.server
        return postgres_bed(self.server.url())

    @property
    def free_gib(self) -> float:
        return shutil.disk_usage(self.place).free / GIB

    def server_settings(self) -> dict[str, str]:
        if self.server is None:
            return {}
        return {name: str(self.server.execute(f"SHOW {name}")[0][0]) for name in ("server_version", *SETTINGS)}


@contextlib.contextmanager
def prepared(engines: Sequence[Engine], data: Path | None, disk_gib: float) -> Iterator[Ground]:
    place = real_disk([data] if data else usual_places())
    if (free := shutil.disk_usage(place).free / GIB) < disk_gib:
        raise NoPlace(
            f"{place} has {free:.1f} GiB free and {disk_gib:g} are needed: name a folder on a larger disk with DATA=, "
            "or measure less with SIZE=small or CURVES="
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(temporary_folders_in(stack.enter_context(open_folder(place))))
        files = PrivateFolder()
        stack.callback(files.close)
        server = stack.enter_context(Server(18, settings=SETTINGS)) if "postgres" in engines else None
        yield Ground(place, files.path, server)


@contextlib.contextmanager
def open_folder(place: Path) -> Iterator[Path]:
    """A new folder. Where the run is root's, the user that servers run as may make and remove its own folders there."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-growth-", dir=place))
    try:
        if os.geteuid() == 0:
            folder.chmod(0o1777)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def temporary_folders_in(place: Path) -> Iterator[None]:
    before = tempfile.tempdir
    tempfile.tempdir = str(place)
    try:
        yield
    finally:
        tempfile.tempdir = before
