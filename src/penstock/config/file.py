"""penstock.toml: finds it, reads it, and gives its keys with their places. What the values mean is not known here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.config.keys import BY_NAME, GROUPS, place_of, unknown
from penstock.domain.errors import ConfigError

DEFAULT_FILE = "penstock.toml"

_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(#.*)?")
_ASSIGNMENT = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w\-. ])+?)\s*=""")


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read: its absolute path, its text and what TOML makes of it."""

    path: str
    text: str
    content: dict[str, Any]

    def place(self, name: str) -> str:
        line = line_of(self.text, name)
        return f"{self.path}, line {line}" if line else self.path

    def values(self) -> Iterator[tuple[str, Any]]:
        """Every key with its value. A name that is no key, or a table in the wrong place, is an error."""
        yield from self._walk("", self.content)

    def _walk(self, above: str, table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for part, value in table.items():
            name = f"{above}.{part}" if above else part
            if name in BY_NAME:
                if isinstance(value, dict) and not BY_NAME[name].kind.table:
                    raise self._wrong(name, f"{name} is a table here; it takes one value: {BY_NAME[name].form}")
                yield name, value
            elif isinstance(value, dict) and (value or name in GROUPS):
                elsewhere = None if name in GROUPS else place_of(name)
                if elsewhere is not None:
                    raise self._wrong(name, f"[{name}] is not a table of penstock; did you mean [{elsewhere}]?")
                yield from self._walk(name, value)
            elif name in GROUPS:
                raise self._wrong(
                    name, f"{name}={value!r} is one value here; it is a table: write [{name}] and its keys below"
                )
            else:
                raise self._wrong(name, unknown(name, BY_NAME))

    def _wrong(self, name: str, what: str) -> ConfigError:
        return ConfigError(f"{self.place(name)}: {what}")


def read_file(given: str | None, blame: str) -> File | None:
    """The file at this path, which must exist, or penstock.toml of the current folder if there is one.

    `blame` is who gave the path.
    """
    path = given or DEFAULT_FILE
    try:
        with open(path, "rb") as opened:
            content = opened.read()
    except FileNotFoundError:
        if given is None:
            return None
        raise ConfigError(f"{blame}: there is no file {os.path.abspath(path)}: correct the path") from None
    except IsADirectoryError:
        raise ConfigError(f"{blame}: {os.path.abspath(path)} is a folder: name a file") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{blame}: {path!r} cannot be read: {why}") from None
    return _parsed(os.path.abspath(path), content)


def _parsed(path: str, content: bytes) -> File:
    import tomllib

    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
        return File(path, text, tomllib.loads(text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: this is not UTF-8 text: save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        last = text.split("\n")
        end = f"at line {len(last)}, column {len(last[-1]) + 1}, the end of the file"
        what = str(error).replace("at end of document", end)
        raise ConfigError(f"{path} is not TOML: {what}; a line is KEY = VALUE or [TABLE], texts in quotes") from None


def line_of(text: str, name: str) -> int | None:
    """The line that sets a key, or begins the table that holds it; None if it is spelled in a way not seen here."""
    header, found = "", dict[str, int]()
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _HEADER.fullmatch(line):
            header = _plain(match[1])
            found.setdefault(header, number)
        elif match := _ASSIGNMENT.match(line):
            found.setdefault(f"{header}.{_plain(match[1])}".lstrip("."), number)
    while name and name not in found:
        name = name.rpartition(".")[0]
    return found.get(name)


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
