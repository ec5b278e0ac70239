"""How bad it gets in one seed: which faults there are, and how often.

Each seed has only some of them, drawn at random: all at once they would hide each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import Any

HEARTBEAT_SECONDS = 0.5
STALE_SECONDS = 3 * HEARTBEAT_SECONDS

READS = frozenset({
    "ended_attempts", "read_signals", "list_workers", "read_types", "read_limits", "read_job", "list_jobs",
    "count_jobs", "count_waiting", "read_history", "list_pauses", "count_open", "list_dead", "read_clock",
    "count_dead", "count_gauges", "count_ended", "read_sample", "read_figures", "read_capacity",
    "check_store", "read_schedules", "due_schedules", "read_workflow", "list_workflows", "read_results",
})  # fmt: skip
REPEATABLE = frozenset({
    "enqueue_jobs", "finish_jobs", "heartbeat_worker", "change_schedules", "enqueue_workflow", "fold_figures",
    "store_sample",
})  # fmt: skip
DEADLY = frozenset({"enqueue_jobs", "claim_jobs", "finish_jobs", "change_schedules", "enqueue_workflow"})


class Fault(Enum):
    """What becomes of one call to the store."""

    NONE = "carried out and answered"
    REFUSED = "not carried out, and the caller is told so"
    LOST = "not carried out, and nobody knows"
    UNCERTAIN = "carried out, and nobody knows"
    TWICE = "carried out twice, answered once"
    DIED_BEFORE = "the caller's process dies before it is carried out"
    DIED_AFTER = "the caller's process dies after it was carried out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """The chance that a call meets each fault, and how often things happen to processes (mean seconds between)."""

    slow: float = 0.0
    """Takes up to 0.3 s each way."""
    stalled: float = 0.0
    """Takes longer than a worker may be silent."""
    refused: float = 0.0
    lost: float = 0.0
    uncertain: float = 0.0
    twice: float = 0.0
    died: float = 0.0
    deaf: float = 0.0
    """A wake-up is lost; it costs one poll."""
    claims_unheard: float = 0.0
    """Of claims alone: the jobs are given to a worker that never hears of them."""
    kill_seconds: float | None = None
    pause_seconds: float | None = None
    sleep_seconds: float | None = None
    """Its machine is suspended: unlike after a pause, its clocks have stood still."""
    stop_seconds: float | None = None
    cut_seconds: float | None = None
    """One process cannot reach the store for a while."""
    outage_seconds: float | None = None
    """Nobody can."""
    step_seconds: float | None = None
    """The wall clock of a process is set forward or back."""
    remote: bool = False
    """Whether what was sent is carried out even if the sender is dead or stopped by then, as by a server."""
    own_ids: bool = False
    """Whether a worker that starts again has the id of the one before."""

    @property
    def only_deaths(self) -> bool:
        """Whether processes die and nothing else happens to them or to their calls."""
        return replace(self, died=0.0, kill_seconds=None, remote=False, own_ids=False) == CALM

    def draw(self, name: str, random: Random) -> Fault:
        """What happens to a call of this method of the store."""
        chance = random.random()
        for fault, share in self._shares(name):
            chance -= share
            if chance < 0:
                return fault
        return Fault.NONE

    def _shares(self, name: str) -> list[tuple[Fault, float]]:
        if name in READS:
            return [(Fault.REFUSED, self.refused)]
        shares = [(Fault.REFUSED, self.refused), (Fault.LOST, self.lost), (Fault.UNCERTAIN, self.uncertain)]
        if name == "claim_jobs":
            shares.append((Fault.UNCERTAIN, self.claims_unheard))
        if name in REPEATABLE:
            shares.append((Fault.TWICE, self.twice))
        if name in DEADLY:
            shares += [(Fault.DIED_BEFORE, self.died / 2), (Fault.DIED_AFTER, self.died / 2)]
        return shares

    def seconds(self, random: Random) -> float:
        """How long a call takes one way."""
        chance = random.random()
        if chance < self.stalled:
            return STALE_SECONDS * random.uniform(0.9, 2.5)
        if chance < self.stalled + self.slow:
            return random.uniform(0.005, 0.3)
        return random.uniform(0.0001, 0.002)


CALM = Weather()


def draw_weather(random: Random) -> Weather:
    """The weather of a seed: about half of the faults, each at its own strength."""
    often = {
        "slow": 0.1, "stalled": 0.01, "refused": 0.1, "lost": 0.05, "uncertain": 0.1, "twice": 0.2, "died": 0.01,
        "deaf": 0.5,
    }  # fmt: skip
    between = {
        "kill_seconds": 4.0, "pause_seconds": 4.0, "sleep_seconds": 6.0, "stop_seconds": 5.0, "cut_seconds": 5.0,
        "outage_seconds": 10.0, "step_seconds": 4.0,
    }  # fmt: skip
    weather = Weather(remote=random.random() < 0.5, own_ids=random.random() < 0.5)
    if random.random() < 0.1:
        return replace(weather, died=0.005, kill_seconds=3.0)
    chosen: dict[str, Any] = {
        name: chance * random.random() for name, chance in often.items() if random.random() < 0.5
    } | {
        name: mean * random.uniform(0.5, 2.0) for name, mean in between.items() if random.random() < 0.6
    }  # fmt: skip
    return replace(weather, **chosen)
