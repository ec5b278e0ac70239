"""The statements of this engine by name. Each is one file in sql/TOPIC/, readable with plain sqlite3."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from penstock.store.sql.words import with_words

ENGINE = "penstock.store.sqlite"


@cache
def sql_files() -> dict[str, Traversable]:
    """Where each statement is."""
    return {file.name[:-4]: file for topic in (files(ENGINE) / "sql").iterdir() for file in topic.iterdir()}


@cache
def sql(name: str) -> str:
    """The text of a statement."""
    return with_words(sql_files()[name].read_text("utf-8"))


def migrations() -> list[tuple[int, str, str]]:
    """(version, name, SQL) of every migration, in order."""
    folder = files(ENGINE) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name[:-4], (folder / name).read_text("utf-8")) for name in names]
