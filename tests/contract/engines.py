"""The engines that the contract suite runs on. A new engine is one entry in ENGINES."""

from __future__ import annotations

import functools
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import apsw
import pytest

from penstock.domain.clock import Clock
from penstock.engines import open_store
from penstock.store.contract import SqlStore
from tests.postgres.binaries import VERSIONS, Version, programs
from tests.postgres.schemas import schemas
from tests.postgres.server import shared

FILE = "jobs.db"


@dataclass(frozen=True)
class Engine:
    """`fresh` makes an address at which there is no store, `clean` one at which nothing is stored; `drop` removes it.

    `kind` is what the store itself says it is: several engines to test may be of one kind. `narrow` is what to add to
    the address so that only one transaction of a caller's can be open at a time.
    """

    name: str
    kind: str
    fresh: Callable[[Path], str]
    drop: Callable[[str], None] = lambda address: None
    clean: Callable[[Path], str] | None = None
    narrow: str = ""
    save: Callable[[str, Path], Callable[[], None]] = lambda address, folder: lambda: None
    """Makes a backup with the engine's own means. What it answers restores it, whoever uses the store."""
    table: Callable[[str, str], str] = lambda address, name: f"penstock_{name}"
    """How a statement names a table of the store at an address."""
    examples: int = 150
    """How many walks against the model are worth their time."""

    def address(self, folder: Path) -> str:
        """Where a test that does not care whether there are tables begins."""
        return (self.clean or self.fresh)(folder)

    def open(self, address: str, clock: Clock) -> SqlStore:
        """A handle to the store. Another handle to the same address acts as another process would."""
        return open_store(address, clock=clock, random=lambda: 0.5)


def postgresql(version: Version) -> Engine:
    """Every test in a schema of its own on one server."""

    def clean(folder: Path) -> str:
        schema = schemas(version).take()
        return shared(version).url(schema=schema) if schema else fresh(folder)

    def fresh(folder: Path) -> str:
        return shared(version).url(schema=f"t_{uuid.uuid4().hex}")

    def drop(address: str) -> None:
        (schema,) = parse_qs(urlsplit(address).query)["schema"]
        schemas(version).give_back(schema)
        schemas(version).run("DROP TABLE IF EXISTS orders")

    def table(address: str, name: str) -> str:
        (schema,) = parse_qs(urlsplit(address).query)["schema"]
        return f"{schema}.{name}"

    def save(address: str, folder: Path) -> Callable[[], None]:
        """In one transaction, as the page of this engine says."""
        (schema,) = parse_qs(urlsplit(address).query)["schema"]
        dump, whole = folder / "dump.sql", folder / "restore.sql"
        url = shared(version).url()
        subprocess.run([programs(version) / "pg_dump", "-n", schema, "-f", dump, url], check=True)
        whole.write_text(f"SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE;\n{dump.read_text()}")

        def restore() -> None:
            psql = str(programs(version) / "psql")
            subprocess.run(
                [psql, "-1", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(whole), url],
                check=True,
                stdout=subprocess.DEVNULL,
            )

        return restore

    examples = 50 if version == max(VERSIONS) else 25
    return Engine(f"postgresql-{version}", "postgresql", fresh, drop, clean, "&pool=1", save, table, examples)


def sqlite() -> Engine:
    """Every test in a file of its own, the copy of one in which nothing is stored: making the tables takes longer."""

    @functools.cache
    def empty() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(fresh(Path(folder)))
            store.migrate()
            store.close()
            return (Path(folder) / FILE).read_bytes()

    def clean(folder: Path) -> str:
        (folder / FILE).write_bytes(empty())
        return fresh(folder)

    def fresh(folder: Path) -> str:
        return f"sqlite:///{folder}/{FILE}"

    def save(address: str, folder: Path) -> Callable[[], None]:
        copy(folder / FILE, folder / "backup.db")
        return lambda: copy(folder / "backup.db", folder / FILE)

    return Engine("sqlite", "sqlite", fresh, clean=clean, save=save)


def copy(source: Path, target: Path) -> None:
    """All of one SQLite database into another, also when others use it."""
    one, other = apsw.Connection(str(source)), apsw.Connection(str(target))
    try:
        with other.backup("main", one, "main") as copying:
            copying.step()
    finally:
        one.close()
        other.close()


ENGINES = [sqlite(), *map(postgresql, VERSIONS)]
NEWEST = {engine.kind: engine for engine in ENGINES}
"""One version of each kind."""
BY_TURNS = [
    pytest.param(engine, marks=[] if engine in NEWEST.values() else pytest.mark.turns, id=engine.name)
    for engine in ENGINES
]
"""All as parameters of a test. Of what is older than the newest, `make test` runs a part at a time."""
