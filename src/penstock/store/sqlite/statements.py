"""The statements of this engine by name. Each is one file in sql/, readable with plain sqlite3."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    """The text of sql/<name>.sql."""
    return (files(__package__) / "sql" / f"{name}.sql").read_text("utf-8")


def migrations() -> list[tuple[int, str, str]]:
    """(version, name, SQL) of every migration, in order."""
    folder = files(__package__) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name[:-4], (folder / name).read_text("utf-8")) for name in names]
