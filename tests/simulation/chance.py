"""All chance of a run comes from its seed: also what the library draws by itself."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from penstock.system import ids


@contextmanager
def chance_from(seed: int) -> Iterator[None]:
    """Within the block, jitter and job ids are drawn from the seed."""
    sources = random.Random(f"{seed} ids")
    before = random.getstate()
    random.seed(f"{seed} jitter")

    def new_source() -> str:
        half = f"{sources.getrandbits(62) | 1 << 63:016x}"
        return f"-{half[:4]}-{half[4:]}"

    try:
        with mock.patch.object(ids, "_new_source", new_source):
            yield
    finally:
        random.setstate(before)


class _Kept(logging.Handler):
    def __init__(self, told: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        self._told.append(record.getMessage())


@contextmanager
def store_errors() -> Iterator[list[str]]:
    """What stores say of rows that contradict each other. They get past them, so that nobody else would notice."""
    told: list[str] = []
    logger, kept = logging.getLogger("penstock.store"), _Kept(told)
    level = logger.level
    logger.setLevel(logging.ERROR)
    logger.addHandler(kept)
    try:
        yield told
    finally:
        logger.removeHandler(kept)
        logger.setLevel(level)


@contextmanager
def quiet(loud: bool = False) -> Iterator[None]:
    """Workers in trouble log a lot, and nobody reads it; `loud` shows everything."""
    logger = logging.getLogger("penstock")
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG if loud else logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.propagate = propagate
