"""Whether anybody looks at what is wrong. Whoever leads counts what waits, too: so its newest sample tells."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS
from penstock.observe.figures.capacity import is_stale
from penstock.observe.words import about
from penstock.store.contract import Sample

LOOK = "start a worker, or: penstock coordinator"


def unseen(sample: Sample | None, now: int) -> str | None:
    """That nobody looks, and since when; None while somebody does."""
    if sample is None:
        return "nobody has looked yet"
    return f"nobody has looked for {about((now - sample.at) / MICROSECONDS)}" if is_stale(sample, now) else None
