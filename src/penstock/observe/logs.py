"""Text logs for the command line. The library itself never configures logging: that is the program's business."""

from __future__ import annotations

import logging
import sys
from typing import IO


def printable(text: str, keep: str = "") -> str:
    """The text with every control character escaped, so that it cannot steer a terminal or fake a line of a log."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


class OneLine(logging.Formatter):
    """`HH:MM:SS level logger message`, line breaks in the message escaped; a traceback follows on its own lines."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 — the name that logging calls
        record.levelname = record.levelname.lower()
        return printable(super().formatMessage(record))


class Lines(logging.StreamHandler[IO[str]]):
    """Writes lines until nobody reads them any more; what is logged must never stop what is done."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 — the name that logging calls
        if isinstance(sys.exc_info()[1], BrokenPipeError):
            self.setLevel(logging.CRITICAL + 1)
        else:
            super().handleError(record)


def configure(level: int | str = logging.INFO) -> None:
    """Log to stdout, for every logger. A program that has configured logging already keeps what it has."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = Lines(sys.stdout)
    handler.setFormatter(OneLine())
    root.addHandler(handler)
    root.setLevel(level)
