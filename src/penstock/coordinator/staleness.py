"""Who was not heard of for too long, as one observer has seen it (A2, A11).

Clocks are set: by a step forward the store's clock makes a healthy worker look silent for an hour, by a step back a
dead one is not overdue for an hour. So whoever watches counts by its own monotonic clock from when it saw a worker's
last heartbeat change. What it has not seen, because it began to watch later, the store's clock tells; but before that
is believed, the worker has half of its patience, one and a half heartbeats, to be heard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.store.contract import WorkerInfo

BELIEVED = 0.5
"""The part of its patience for which a worker is watched before the store's clock is believed."""


class LastBeat(NamedTuple):
    """The moment of a worker's last heartbeat as it is stored; since when it has not changed; whether that was seen."""

    beat: int
    at: float
    heard: bool


class Unheard(NamedTuple):
    """The sessions of lost workers, with the moments of their last heartbeats, and when the next one may be lost."""

    lost: list[tuple[int, int]]
    next_in: float | None


class Staleness:
    def __init__(self, stale_after: float) -> None:
        self._stale_after = stale_after
        self._seen: dict[int, LastBeat] = {}
        self._looked = 0.0

    def look(self, workers: Sequence[WorkerInfo], asked: float, now: float) -> Unheard:
        """By what the store answered between these two moments of the own clock."""
        live = [one for one in workers if one.status in ("active", "draining") or one.failing]
        self._seen = {one.session: self._see(one, now) for one in live}
        self._looked = now
        left = [(one, self._left(one, asked)) for one in live]
        lost = [(one.session, one.heartbeat_at) for one, seconds in left if seconds <= 0]
        return Unheard(lost, min((seconds for _, seconds in left if seconds > 0), default=None))

    def _see(self, worker: WorkerInfo, now: float) -> LastBeat:
        seen = self._seen.get(worker.session)
        if seen is None or (seen.beat != worker.heartbeat_at and now - self._looked > self._believed_after(worker)):
            return LastBeat(worker.heartbeat_at, now, heard=False)
        if seen.beat == worker.heartbeat_at:
            return seen
        since = worker.silent if 0 <= worker.silent <= now - self._looked else 0.0
        return LastBeat(worker.heartbeat_at, now - since, heard=True)

    def _left(self, worker: WorkerInfo, now: float) -> float:
        """Seconds until it counts as lost, if it is not heard of by then."""
        seen, patience = self._seen[worker.session], self._patience(worker)
        left = seen.at + patience - now
        if seen.heard:
            return left
        return min(left, max(patience - worker.silent, seen.at + self._believed_after(worker) - now))

    def _patience(self, worker: WorkerInfo) -> float:
        return max(self._stale_after, worker.stale_after)

    def _believed_after(self, worker: WorkerInfo) -> float:
        return BELIEVED * self._patience(worker)
