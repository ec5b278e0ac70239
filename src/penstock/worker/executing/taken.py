"""Which slots of a group are taken: by attempts, and by threads that are stuck in attempts that were given up."""

from __future__ import annotations

from penstock.store.contract import Claim
from penstock.worker.running.isolation import Isolation
from penstock.worker.running.run import Run
from penstock.worker.slots import SlotGroup


class Slots:
    """The slots of one group as they are now.

    As many stuck threads as the group has calls cost nothing: others take their place. A further one keeps its slots
    until its end. So there are never more threads than twice the calls, and a group whose handlers all hang takes no
    more jobs.
    """

    def __init__(self, group: SlotGroup, isolation: Isolation) -> None:
        self.group = group
        self._isolation = isolation
        self._stuck = 0
        self.active: dict[int, Run] = {}
        """The attempts that have begun and not ended, by their tokens."""
        self.given_up: dict[int, Claim] = {}
        """The jobs of those that were given up and whose code still runs."""
        self.extra = 0
        """What stuck threads take, less isolated attempts, which take none."""

    @property
    def occupied(self) -> int:
        """How many are taken. Isolated attempts take those of processes, whatever their group is."""
        return len(self.active) + (self._isolation.running if self.group.processes else self.extra)

    @property
    def free(self) -> int:
        return max(0, self.group.slots - self.occupied)

    def leave_isolation(self) -> None:
        self.extra += 1
        self._isolation.leave_place()

    def count_stuck(self, change: int) -> None:
        """So many more threads are stuck, or fewer."""
        before = self._taken_by_stuck
        self._stuck += change
        self.extra += self._taken_by_stuck - before

    def resize(self, group: SlotGroup) -> None:
        before, self.group = self._taken_by_stuck, group
        self.extra += self._taken_by_stuck - before

    @property
    def _taken_by_stuck(self) -> int:
        group = self.group
        calls, each = (group.slots, 1) if group.batching is None else (group.calls, group.batching.size)
        return max(0, self._stuck - calls) * each

    @property
    def jam(self) -> str | None:
        """Why the group takes no more jobs, if stuck threads have all its slots."""
        if self._taken_by_stuck < self.group.slots:
            return None
        types = self.group.types
        names = ", ".join(types[:3]) + (", …" if types[3:] else "")
        return (
            f"{self._stuck} calls of handlers were given up and still run in threads, which cannot be stopped: no more "
            f"jobs are taken ({names}) until some of them end; only a restart ends them all"
        )
