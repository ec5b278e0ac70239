"""What penstock says in its log while a net looks on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def errors_logged() -> Iterator[list[str]]:
    """What penstock logs as an error: rows that contradict each other are mended loudly, and must not come to be."""
    found: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: found.append(f"logged: {record.getMessage()}")  # type: ignore[method-assign]
    log = logging.getLogger("penstock")
    log.addHandler(handler)
    try:
        yield found
    finally:
        log.removeHandler(handler)
