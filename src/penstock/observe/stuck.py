"""Which waiting jobs no live worker can run, and why: for the doctor, and for the coordinator, which always watches."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.flow.pauses import Pauses
from penstock.domain.flow.routing import why_not
from penstock.domain.flow.unroutable import why_stuck as why_stuck
from penstock.store.contract import Waiting, WorkerInfo


def takers_among(workers: Sequence[WorkerInfo]) -> list[WorkerInfo]:
    """Those that claim: a draining one takes nothing more, and a coordinator never took anything."""
    return [worker for worker in workers if worker.live and worker.status == "active" and not worker.coordinates]


def unpaused_lanes(lanes: Sequence[Waiting], pauses: Pauses) -> list[Waiting]:
    """The lanes whose jobs wait for a worker, and not for a person who has paused them."""
    return [lane for lane in lanes if not pauses.holding(lane)]


def stuck_lanes(lanes: Sequence[Waiting], takers: Sequence[WorkerInfo]) -> list[Waiting]:
    """The lanes that none of these takes from."""
    return [lane for lane in lanes if all(why_not(worker, lane) for worker in takers)]
