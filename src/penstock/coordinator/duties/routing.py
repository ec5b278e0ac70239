"""Notices jobs that no live worker can run, says so, and lets those fail whose type or queue asks for it (R5)."""

from __future__ import annotations

import logging

from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.flow.pauses import Pauses
from penstock.domain.flow.routing import LaneKey
from penstock.domain.options import DEFAULTS, Options
from penstock.observe.logs import fields
from penstock.observe.stuck import stuck_lanes, unpaused_lanes, why_stuck
from penstock.store.contract import CountWaiting, FailUnroutable, Store, Waiting, WorkerInfo

log = logging.getLogger("penstock.coordinator")


class Routing:
    name = "look for jobs that no worker can run"
    judges = True
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._failing_queues = frozenset(settings.failing_queues)
        self.interval = settings.recovery_interval
        self._seen: dict[LaneKey, bool] = {}
        """Lanes without a worker at the last look, and whether that was said."""

    async def has_cause(self) -> bool:
        stuck, _ = await self._look()
        types = await self._store.read_types() if stuck else {}
        return any(self._fails(lane, types) for lane in stuck)

    async def _look(self) -> tuple[dict[LaneKey, Waiting], list[WorkerInfo]]:
        """The lanes that none of the workers that claim takes from, and those workers."""
        pauses = Pauses(await self._store.list_pauses())
        waiting = unpaused_lanes(await self._store.count_waiting(CountWaiting()), pauses)
        # Also who is overdue: if it is gone it is lost soon, and after a step of the clock everybody looks so.
        takers = [one for one in await self._store.list_workers() if one.status == "active" and not one.coordinates]
        return {_lane(one): one for one in stuck_lanes(waiting, takers)}, takers

    async def do(self, term: int) -> None:
        stuck, takers = await self._look()
        for lane in [lane for lane in self._seen if lane not in stuck]:
            self._resolve(lane)
        types = await self._store.read_types() if stuck else {}
        for lane, one in stuck.items():
            reason, _ = why_stuck(one, takers, sorted(types))
            if lane not in self._seen:
                self._seen[lane] = False  # A worker that is restarted is back by the next look.
                continue
            if not self._seen[lane]:
                self._tell(lane, reason)
            if self._fails(lane, types):
                await self._fail(lane, reason, term)

    def _fails(self, lane: LaneKey, types: dict[str, Options]) -> bool:
        return lane.queue in self._failing_queues or types.get(lane.type, DEFAULTS).no_worker == "fail"

    async def _fail(self, lane: LaneKey, reason: str, term: int) -> None:
        params = FailUnroutable(
            type=lane.type, queue=lane.queue, capability=lane.capability, resources=lane.resources,
            reason=f"no workers available: {reason}", term=term,
        )  # fmt: skip
        while (await self._store.fail_unroutable(params)).ids:
            pass

    def _tell(self, lane: LaneKey, reason: str) -> None:
        self._seen[lane] = True
        log.warning("jobs of type %s on queue %s are waiting and no live worker can run them: %s", lane.type,
                    lane.queue, reason, extra=fields("jobs.unroutable", type=lane.type, queue=lane.queue,
                                                     capability=lane.capability, reason=reason))  # fmt: skip

    def _resolve(self, lane: LaneKey) -> None:
        if self._seen.pop(lane):
            log.info("jobs of type %s on queue %s no longer wait for a worker", lane.type, lane.queue,
                     extra=fields("jobs.routable", type=lane.type, queue=lane.queue,
                                  capability=lane.capability))  # fmt: skip


def _lane(waiting: Waiting) -> LaneKey:
    return LaneKey(waiting.type, waiting.queue, waiting.capability, waiting.resources)
