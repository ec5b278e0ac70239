"""The statements of this engine by name. Each is one file in sql/TOPIC/, readable with plain psql.

They name the schema `penstock`; another name is put in its place here, quoted by the one function that does so.
Parameters are %(name)s, each with its type where it is first used, so that every driver can bind them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief
from penstock.store.sql.words import with_words

ENGINE = "penstock.store.postgres"
DEFAULT_SCHEMA = "penstock"
NAME_CHARS_MAX = 63
SCHEMA_CHARS_MAX = 54
"""The channel of notifications has the name of the schema and nine letters before it."""
PARTS = {"claim_one_lane": ("claim_jobs", "many lanes"), "insert_jobs": ("insert_gated_jobs", "gates")}
"""Statements that are another without what it has between `-- such a line {` and `-- }`."""

_PARAMETER = re.compile(r"%\((\w+)\)s(?:::(\w+(?:\[\])?))?|%%")
_PART = re.compile(r"^ *-- ([a-z ]+) \{\n.*?^ *-- \}\n", re.DOTALL | re.MULTILINE)
_SCHEMA = re.compile(r"\bpenstock\.(?=[a-z])")


def quoted(name: str) -> str:
    """A name as an identifier in SQL, or an error: the only place where one becomes part of a statement."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or len(name) > NAME_CHARS_MAX or name.startswith("pg_"):
        raise ConfigError(
            f"schema={brief(name)} is not possible: lower-case letters, digits and underscores, beginning with a "
            f"letter, at most {SCHEMA_CHARS_MAX} characters, and not pg_…"
        )
    return f'"{name}"'


def in_schema(text: str, schema: str) -> str:
    """The statement with the schema's name."""
    return text if schema == DEFAULT_SCHEMA else _SCHEMA.sub(f"{quoted(schema)}.", text)


@cache
def sql_files() -> dict[str, Traversable]:
    """Where each statement is."""
    return {file.name[:-4]: file for topic in (files(ENGINE) / "sql").iterdir() for file in topic.iterdir()}


@cache
def sql(name: str, schema: str) -> str:
    """The text of a statement for a schema, or of one that is a part of another."""
    file, left_out = PARTS.get(name, (name, None))
    text = with_words(sql_files()[file].read_text("utf-8"))
    return in_schema(_PART.sub(lambda part: "" if part[1] == left_out else part[0], text), schema)


@cache
def migrations(schema: str) -> list[tuple[int, str, str]]:
    """(version, name, SQL) of every migration, in order."""
    folder = files(ENGINE) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name[:-4], in_schema((folder / name).read_text("utf-8"), schema)) for name in names]


class Numbered(NamedTuple):
    """A statement with numbered parameters, their names, and the types that it casts them to."""

    text: bytes
    names: tuple[str, ...]
    types: tuple[str, ...]


@lru_cache(maxsize=500)
def numbered(text: str) -> Numbered:
    """The statement as the server wants it: with $1, $2, … in the order of first use."""
    types: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "%"
        types.setdefault(name, found[2])
        cast = f"::{found[2]}" if found[2] else ""
        return f"${list(types).index(name) + 1}{cast}"

    return Numbered(_PARAMETER.sub(number, text).encode(), tuple(types), tuple(types.values()))
