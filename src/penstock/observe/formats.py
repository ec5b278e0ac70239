"""How a log record becomes a line: text for people, JSON for programs. No value in a record can break it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

COLOURS = {logging.DEBUG: "2", logging.WARNING: "33", logging.ERROR: "31", logging.CRITICAL: "31"}
BARE = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; all else came as extra."""


def printable(text: str, keep: str = "") -> str:
    """The text with every control character escaped, so that it cannot steer a terminal or fake a line of a log."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def json_text(encoded: bytes) -> str:
    """JSON whose texts cannot steer a terminal either; for programs it says the same."""
    text = encoded.decode()
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def colourful(stream: IO[str]) -> bool:
    """Whether to colour what goes there: on a terminal that can, unless NO_COLOR is set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


class TextFormat(logging.Formatter):
    """`HH:MM:SS level logger message`, on one line; a traceback follows on its own lines.

    An event's message says it all. Any other record, such as a handler's own, gets its fields as `name=value`.
    """

    def __init__(self, *, colours: bool = False, processes: bool = False) -> None:
        super().__init__(datefmt="%H:%M:%S")
        self._colours = colours
        self._processes = processes

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        if self._colours and (colour := COLOURS.get(record.levelno)):
            level = f"\x1b[{colour}m{level}\x1b[0m"
        process = f"[{record.process}] " if self._processes else ""
        line = f"{self.formatTime(record, self.datefmt)} {process}{level} {printable(self._message(record))}"
        return "\n".join([line, *(printable(part, "\n\t") for part in _traces(self, record))])

    def _message(self, record: logging.LogRecord) -> str:
        words = [record.name, record.getMessage()]
        if not hasattr(record, "event"):
            words += [f"{name}={_text(value)}" for name, value in _extra(record)]
        return " ".join(words)


class JsonFormat(logging.Formatter):
    """One JSON object per line: time, level, logger, event, message, and every field of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:23] + "Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in _extra(record):
            line.setdefault(name, value)
        if traces := list(_traces(self, record)):
            line["exception"] = "\n".join(traces)
        try:
            return _encode(line)
        except Exception:  # A field's own code may run here, and raise anything.
            return _encode({_text(name): _plain(value) for name, value in line.items()})


def _extra(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in vars(record).items() if name not in BARE)


def _traces(formatter: logging.Formatter, record: logging.LogRecord) -> Iterator[str]:
    if record.exc_info and record.exc_info[0] is not None:
        yield formatter.formatException(record.exc_info)
    elif record.exc_text:
        yield record.exc_text
    if record.stack_info:
        yield formatter.formatStack(record.stack_info)


def _encode(value: Any) -> str:
    return json_text(msgspec.json.encode(value, enc_hook=str))


def _plain(value: Any) -> Any:
    """The value if JSON can say it, its text if not."""
    try:
        _encode(value)
    except Exception:
        return _text(value)
    return value


def _text(value: Any) -> str:
    """Some text for any value, also for one whose own str() fails or holds half a character."""
    try:
        return str(value).encode(errors="backslashreplace").decode()
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__} in its own text>"
