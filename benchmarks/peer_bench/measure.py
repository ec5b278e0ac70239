"""Measures the parts of one contestant: enqueueing, draining, pickup. Every contestant in the same way."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.peer_bench.catalogue import PART_NAMES, Part
from benchmarks.peer_bench.contestant import Contestant
from benchmarks.peer_bench.servers import Servers
from benchmarks.peer_bench.stage import Deadline, Stage

Figures = dict[str, float]
STEP_SECONDS_MAX = 240.0
WARM = 20
DROPPED = 20
JOBS_MIN = 100
SINGLES = 2000
BULK = 10_000
PROBES = 220
SMALL = 5000
"""With fewer jobs than this the run is only a trial of itself."""
SMALL_PROBES = 60
IDLE_SECONDS = 1.0
ENQUEUEING: tuple[Part, ...] = ("single", "single_plain", "bulk")
"""These go on in the same store; every other part begins with an empty one."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything, as `jobs` to drain sets it."""

    jobs: int = 50_000

    @property
    def is_small(self) -> bool:
        return self.jobs < SMALL

    @property
    def singles(self) -> int:
        return min(SINGLES, self.jobs)

    @property
    def bulk(self) -> int:
        return min(BULK, self.jobs)

    @property
    def probes(self) -> int:
        return SMALL_PROBES if self.is_small else PROBES

    def drained(self, who: Contestant, processes: int = 1) -> int:
        """Slow contestants drain fewer, and two processes twice as many, so that the time is about the same."""
        return processes * max(JOBS_MIN, round(self.jobs * who.share))


class Measure:
    """`say` is told what is being done."""

    def __init__(self, servers: Servers, stage: Stage, sizes: Sizes, say: Callable[[str], None]) -> None:
        self._servers = servers
        self._stage = stage
        self._sizes = sizes
        self._say = say

    def run(self, who: Contestant, parts: Sequence[Part], into: Figures) -> None:
        """Add the figures of these parts, as far as it comes before it is Failed."""
        deadline = Deadline(STEP_SECONDS_MAX)
        before: Part | None = None
        for part in parts:
            self._say(f"{who.title}: {PART_NAMES[part]}")
            if not (part in ENQUEUEING and before in ENQUEUEING):
                self._prepare(who, deadline)
            into |= self._measured(who, part, deadline)
            before = part

    def _measured(self, who: Contestant, part: Part, deadline: Deadline) -> Figures:
        match part:
            case "single" | "single_plain":
                return {f"{part}_per_s": self._enqueued(who, deadline, "one", plain=part == "single_plain")}
            case "bulk":
                return {"bulk_per_s": self._enqueued(who, deadline, "many")}
            case "drain":
                return {"drain_per_s": self._drained(who, deadline, 1)}
            case "drain2":
                return {"drain2_per_s": self._drained(who, deadline, 2)}
            case "pickup":
                return pickup_figures(self._pickups(who, deadline))

    def _enqueued(self, who: Contestant, deadline: Deadline, command: str, plain: bool = False) -> float:
        count = self._sizes.bulk if command == "many" else self._sizes.singles
        return count / self._stage.call(who, deadline, command, count, WARM, plain=plain)

    def _drained(self, who: Contestant, deadline: Deadline, processes: int) -> float:
        count = self._sizes.drained(who, processes)
        self._stage.call(who, deadline, "many" if who.has_bulk else "one", count)
        self._servers.settle()
        with self._stage.workers(who, processes, deadline) as workers:
            return self._stage.await_marks(who, workers, count, deadline).per_second

    def _pickups(self, who: Contestant, deadline: Deadline) -> list[float]:
        """An idle worker that has shown that it works, and a producer in another process."""
        with self._stage.workers(who, 1, deadline) as workers:
            self._stage.call(who, deadline, "one", 1)
            self._stage.await_marks(who, workers, 1, deadline)
            time.sleep(IDLE_SECONDS)
            self._stage.call(who, deadline, "produce", self._sizes.probes)
            return self._stage.await_pickups(who, workers, self._sizes.probes, deadline)

    def _prepare(self, who: Contestant, deadline: Deadline) -> None:
        self._servers.empty()
        self._stage.call(who, deadline, "prepare")


def pickup_figures(times_ms: Sequence[float]) -> Figures:
    """Of all but the first ones, while caches are filled."""
    ordered = sorted(times_ms[DROPPED:])
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {"pickup_p50_ms": statistics.median(ordered), "pickup_p99_ms": p99}
