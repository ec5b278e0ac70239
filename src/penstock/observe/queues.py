"""Queues, or types, as people see them: what waits and runs in each, and whether it is paused."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.flow.pauses import Pause, PauseKind, Pauses
from penstock.store.contract import OpenJobs, Store


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """One queue or type. `running` includes what is claimed; `retrying` is a part of what is scheduled."""

    name: str
    pending: int = 0
    scheduled: int = 0
    retrying: int = 0
    running: int = 0
    blocked: int = 0
    oldest_due_at: int | None = None
    pause: Pause | None = None

    @property
    def unfinished(self) -> int:
        """What has to end before it is drained: all but what is scheduled for later and was never tried."""
        return self.pending + self.blocked + self.retrying + self.running


def flows(kind: PauseKind, jobs: Sequence[OpenJobs], pauses: Pauses) -> list[Flow]:
    """All that ever had a job or is paused, by name."""
    groups: dict[str, list[OpenJobs]] = {name: [] for name in pauses.names(kind)}
    for one in jobs:
        groups.setdefault(one.queue if kind == "queue" else one.type, []).append(one)
    return [_flow(name, groups[name], pauses.find(kind, name)) for name in sorted(groups)]


def _flow(name: str, jobs: Sequence[OpenJobs], pause: Pause | None) -> Flow:
    return Flow(
        name=name,
        pending=sum(one.pending for one in jobs),
        scheduled=sum(one.scheduled for one in jobs),
        retrying=sum(one.retrying for one in jobs),
        running=sum(one.running for one in jobs),
        blocked=sum(one.blocked for one in jobs),
        oldest_due_at=min((one.oldest_due_at for one in jobs if one.oldest_due_at is not None), default=None),
        pause=pause,
    )


def seen_names(store: Store, kind: PauseKind) -> set[str]:
    """Every name that the store has seen: in jobs and pauses, declared or served by workers."""
    types, workers = store.read_types().wait(), store.list_workers().wait()
    jobs, paused = store.count_open().wait(), Pauses(store.list_pauses().wait()).names(kind)
    if kind == "queue":
        served = [worker.queues or () for worker in workers]
        return paused.union((one.queue for one in jobs), (one.queue for one in types.values()), *served)
    return paused.union((one.type for one in jobs), types, *(worker.types or () for worker in workers))
