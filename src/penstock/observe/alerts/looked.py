"""Whether anybody looks at what is wrong. Whoever leads counts what waits, too: so its newest sample tells."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS
from penstock.observe.words import about
from penstock.store.contract import Sample

LOOKED_SECONDS = 60.0
"""A sample comes every few seconds; another leader takes over in less than that."""
SAMPLE_REST_FACTOR = 150
"""What takes long to count is counted rarely: three times what the leader rests."""
LOOK = "start a worker, or: penstock coordinator"


def unseen(sample: Sample | None, now: int) -> str | None:
    """That nobody looks, and since when; None while somebody does."""
    if sample is None:
        return "nobody has looked yet"
    seconds = (now - sample.at) / MICROSECONDS
    patience = max(LOOKED_SECONDS, SAMPLE_REST_FACTOR * sample.seconds)
    return f"nobody has looked for {about(seconds)}" if seconds > patience else None
