"""What the slot groups of one worker share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.store.contract import Claim, Store
from penstock.worker.claiming.max_jobs import MaxJobs
from penstock.worker.finishing.outcomes import Outcomes
from penstock.worker.running.hooks import HookCalls
from penstock.worker.running.isolation import Isolation
from penstock.worker.running.run import TypePlans


class StoreClock:
    """The clock of the store, reckoned from that of the loop as of the last claim."""

    offset_us = 0

    def us(self, moment: float) -> int:
        return int(moment * 1e6) + self.offset_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    store: Store
    plans: TypePlans
    outcomes: Outcomes
    hooks: HookCalls
    isolation: Isolation
    max_jobs: MaxJobs
    freed: Callable[[Claim], None]
    """Told of every job that is no longer held here."""
    failed: Callable[[BaseException], None]
    """Told of what no waiting will mend."""
    jammed: Callable[[str], None]
    """Told why a group takes no more jobs."""
    clock: StoreClock = field(default_factory=StoreClock)
