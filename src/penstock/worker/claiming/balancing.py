"""Who takes a new job first, when several workers could: the least loaded, by turns, each as often as its slots (R4).

A hint of new work carries a number that all who hear it hear alike. By that number and by who is there each worker
reckons whose turn it is. That one claims at once; the others give way for a moment and then look as well, so that
nothing waits for a worker that is gone. Nobody asks anybody, and only new work is spread: who has a backlog claims as
fast as it can. See docs/decisions/0015-balancing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.store.contract import WorkerInfo

GIVE_WAY_SECONDS = 0.003
LOAD_APART_MAX = 0.1
BITES = 8
_WHOLE = 2**64
_GOLDEN = 0x9E3779B97F4A7C15  # Multiples of it are spread evenly over 64 bits, whatever the step between two turns.


class Balancing:
    """`around` are the live workers as of the last look, this one among them."""

    def __init__(self, around: Callable[[], Sequence[WorkerInfo]], session: Callable[[], int]) -> None:
        self._around = around
        self._session = session
        self._reckoned: tuple[Sequence[WorkerInfo], int] | None = None
        self._idle: list[WorkerInfo] = []

    def pause(self, turn: int | None) -> float:
        """How long to give way to others after a hint with this number, in seconds."""
        if turn is None or not self.shared or chosen(self._idle, turn) == self._session():
            return 0.0
        return GIVE_WAY_SECONDS

    @property
    def shared(self) -> bool:
        """Whether another worker could begin new work at least about as soon as this one."""
        around, session = self._around(), self._session()
        if self._reckoned is None or self._reckoned[0] is not around or self._reckoned[1] != session:
            self._reckoned, self._idle = (around, session), least_loaded(around, session)
        return any(worker.session != session for worker in self._idle)


def least_loaded(around: Sequence[WorkerInfo], session: int) -> list[WorkerInfo]:
    """Of those that have a free slot and could take the same work as this one: all that are about as idle as the most
    idle. This one may be among them.
    """
    here = next((worker for worker in around if worker.session == session), None)
    if here is None:
        return []
    free = [worker for worker in around if worker.jobs < worker.slots and shares_work(here, worker)]
    least = min((worker.jobs / worker.slots for worker in free), default=0.0)
    return [worker for worker in free if worker.jobs / worker.slots <= least + LOAD_APART_MAX]


def chosen(workers: Sequence[WorkerInfo], turn: int) -> int:
    """The session of the worker whose turn it is: each as often as it has slots, evenly mixed."""
    in_order = sorted(workers, key=lambda worker: worker.session)
    point = (turn * _GOLDEN % _WHOLE) * sum(worker.slots for worker in in_order) // _WHOLE
    for worker in in_order:
        point -= worker.slots
        if point < 0:
            return worker.session
    raise AssertionError("a point within the sum of the slots")


def shares_work(one: WorkerInfo, other: WorkerInfo) -> bool:
    """Whether there may be jobs that both could take."""
    return (
        _meet(one.types, other.types)
        and _meet(one.queues, other.queues)
        and not set(one.capabilities).isdisjoint(other.capabilities)
    )


def _meet(some: Sequence[str] | None, others: Sequence[str] | None) -> bool:
    return some is None or others is None or not set(some).isdisjoint(others)
