"""Job ids: UUIDs of version 7, which grow with time; how they look, and those that follow from what they are for."""

from __future__ import annotations

import hashlib
import re

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
EXAMPLE = "0198c0de-0000-7000-8000-000000000000"


def id_from(moment_us: int, *parts: object) -> str:
    """An id that follows from a moment and what else is said: whoever makes it again makes the same."""
    bits = int.from_bytes(hashlib.blake2b(repr((moment_us, *parts)).encode(), digest_size=10).digest(), "big")
    millisecond, source = moment_us // 1000 & (1 << 48) - 1, f"{bits & (1 << 62) - 1 | 1 << 63:016x}"
    head = f"{millisecond >> 16:08x}-{millisecond & 0xFFFF:04x}-7{bits >> 68:03x}"
    return f"{head}-{source[:4]}-{source[4:]}"


def check_id(job_id: str, fix: str = "penstock jobs list shows them") -> str:
    """The id in its one spelling, or an error that says how ids look and where they come from."""
    text = str(job_id).lower()
    if not _UUID.fullmatch(text):
        raise ConfigError(f"id={brief(job_id)} is not a job id: one looks like {EXAMPLE}; {fix}")
    return text


def is_id(text: str) -> bool:
    """Whether it is an id in its one spelling: whatever is spelt otherwise names no job."""
    return _UUID.fullmatch(text) is not None
