"""How many slots there are for what: those of the workers that take it, whoever uses them now."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.domain.figures.series import Route
from penstock.domain.flow.routing import LaneKey, why_not
from penstock.domain.options import NO_RESOURCES
from penstock.store.contract import WorkerInfo


class Slots:
    """Of these workers. Those that take the same are asked as one."""

    def __init__(self, takers: Iterable[WorkerInfo]) -> None:
        self._offers: dict[tuple[object, ...], tuple[WorkerInfo, int]] = {}
        for worker in takers:
            offer = (worker.types, worker.queues, worker.capabilities)
            _, slots = self._offers.get(offer, (worker, 0))
            self._offers[offer] = (worker, slots + worker.slots)

    def of(self, routes: Collection[Route]) -> int:
        """For jobs of any of these routes."""
        return sum(slots for worker, slots in self._offers.values() if any(_takes(worker, route) for route in routes))

    def shared(self, one: Route, other: Route) -> bool:
        """Whether some worker takes both, so that the one can delay the other."""
        return any(_takes(worker, one) and _takes(worker, other) for worker, _ in self._offers.values())


def _takes(worker: WorkerInfo, route: Route) -> bool:
    return not why_not(worker, LaneKey(*route, NO_RESOURCES))
