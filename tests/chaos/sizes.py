"""How much a run does: the full load of `make chaos`, and a short one for `make test`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.chaos.load import BACKOFF_SECONDS, LOAD_TYPES

JITTER = 1.1
"""Recovery intervals, backoffs and the wait of the next leader may be longer by a tenth."""


@dataclass(frozen=True)
class Size:
    """`seconds` is how long the clients take to enqueue, and so how long there is to do harm."""

    name: str
    jobs: int
    seconds: float
    lease: float
    recovery: float
    lead: float
    rounds: int
    workers: int = 3
    slots: int = 4
    clients: int = 2
    poll: float = 0.1

    @property
    def heartbeat(self) -> float:
        """A worker is lost after three that did not come."""
        return self.lease / 3

    @property
    def bound(self) -> float:
        """From the death of a worker, which may have led, to the next claim of its jobs, while slots are free: s."""
        return self.lease + (self.lead + self.recovery + BACKOFF_SECONDS) * JITTER + self.poll

    def settings(self, **changed: Any) -> dict[str, Any]:
        """Of a worker."""
        return {
            "concurrency": self.slots,
            "heartbeat_interval": self.heartbeat,
            "recovery_interval": self.recovery,
            "leader_lease": self.lead,
            "poll_interval": self.poll,
            "types": LOAD_TYPES,
            **changed,
        }


FULL = Size("full", jobs=500, seconds=12.0, lease=2.0, recovery=0.5, lead=1.5, rounds=6)
SHORT = Size("short", jobs=60, seconds=1.5, lease=1.2, recovery=0.25, lead=0.75, rounds=2)
