"""Which attempts run isolated: those of jobs that may have taken a worker along (F3).

An isolated attempt has a child process for itself while it runs; what happens to that process harms no other job. The
children are those of the pool that process handlers use, so there are never more of them than process slots. Who gets
one, and who does not wait for it, is explained in docs/decisions/0022-isolation.md.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from penstock.store.contract import Claim
from penstock.worker.processes.pool import Processes

STUCK_SECONDS = 1.0
"""When no isolated attempt begins or ends for so long, a job with one crash behind it does not wait for a place."""
ONCE_SECONDS = 10.0
"""So long it waits at most; then it runs as usual."""
HELD_SECONDS = 10.0
"""So long a job with several crashes waits here; then it is given back, and waits in the store."""
TURN_SECONDS = 0.05
"""So long after an isolated attempt has ended, process handlers may take its child first."""
ENDS_WEIGHED = 8
BACK_SECONDS = (1.0, 10.0)
"""For how long it is given back: at least, and at most."""

log = logging.getLogger("penstock.worker")


class Isolation:
    """The places for isolated attempts of one worker, shared by its slot groups.

    `patience` is how long a job may wait here for a place, so that the start timeout does not meet it.
    """

    def __init__(self, pool: Processes, burst: bool, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.pool = pool
        self.burst = burst
        self.patience = patience
        self.most = max(1, pool.size // 2) if pool.ahead else pool.size
        """How many places there are. Where there are process handlers, these have the other half."""
        self.running = 0
        """Isolated attempts that have a place: from their beginning to their end."""
        self._moved_at = 0.0
        self._ended_at = self._loop.time()
        self._between = 0.0
        """How long it took lately from the end of one isolated attempt to that of the next, in seconds."""
        self._given_back = 0
        self._groups: list[Suspects] = []
        self._told_of_room: list[Callable[[], None]] = []
        self._looking: asyncio.TimerHandle | None = None
        self._told: set[str] = set()

    def join(self, group: Suspects) -> None:
        self._groups.append(group)

    def join_processes(self, has_room: Callable[[], None]) -> None:
        """A group of process handlers: told when an isolated attempt has left its child."""
        self._told_of_room.append(has_room)

    def possible(self, claim: Claim) -> bool:
        """Whether a child could run it, as far as that is known. If not, that is said once for its type."""
        why = self.pool.cannot(claim.type)
        if why is not None:
            self.tell_impossible(claim, why)
        return why is None

    def tell_impossible(self, claim: Claim, why: str) -> None:
        if claim.type not in self._told:
            self._told.add(claim.type)
            log.warning("%s %s crashed before and cannot be isolated, like all of its type: %s",
                        claim.type, claim.id, why)  # fmt: skip

    def take_place(self, insists: bool) -> bool:
        """Take a place, if one is free. One that insists may wait in line with the calls of process handlers."""
        others = self.pool.held(isolated=False)
        in_line = self.running - self.pool.held(isolated=True)
        free = self.running + others < self.pool.size or (insists and others > 0 and in_line == 0)
        if not free or self.running >= self.most:
            return False
        self.running += 1
        self._moved_at = self._loop.time()
        if self.running == 1:
            self._ended_at = self._moved_at
        return True

    def leave_place(self) -> None:
        self.running -= 1
        now = self._loop.time()
        self._between += (now - self._ended_at - self._between) / ENDS_WEIGHED
        self._ended_at = now
        self._given_back = max(0, self._given_back - 1) if any(self._groups) else 0
        for has_room in self._told_of_room:
            has_room()
        if not self._told_of_room:
            self.look()
        elif self._looking is None:
            self._looking = self._loop.call_later(TURN_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._looking = None
        self.look()

    def look(self) -> None:
        """A place may have become free."""
        for group in self._groups:
            group.look()

    @property
    def stuck(self) -> bool:
        """Whether nothing has begun or ended for a while, and no child is about to be ready: waiting is no use."""
        moved_at = max(self._moved_at, self.pool.freed_at)
        return self._loop.time() - moved_at >= STUCK_SECONDS and not self.pool.starting

    def back_seconds(self, ahead: int) -> float:
        """For how long to give one back: until those before it, here and given back before, may have had their turn."""
        if self.burst:
            return 0.0
        self._given_back += 1
        between = max(self._between, self._loop.time() - self._ended_at)
        least, most = BACK_SECONDS
        return min(most, max(least, (ahead + self._given_back) * between))


class _Suspect(NamedTuple):
    claim: Claim
    until: float
    insists: bool


class Suspects:
    """The jobs of one slot group that wait for a place. They take no slot of the group.

    `begin` runs one isolated, `among_others` as usual, `give_back` releases it for so many seconds. `is_sure` says
    whether they still are this worker's, as far as it knows; if not, it is looked again.
    """

    def __init__(
        self,
        isolation: Isolation,
        begin: Callable[[Claim], None],
        among_others: Callable[[Claim], None],
        give_back: Callable[[Claim, str, float], None],
        is_sure: Callable[[], bool],
    ) -> None:
        self._isolation = isolation
        self._begin = begin
        self._among_others = among_others
        self._give_back = give_back
        self._is_sure = is_sure
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, _Suspect] = {}
        self._cleared: set[int] = set()
        """Tokens of those that are on their way to run as usual."""
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        isolation.join(self)

    def __len__(self) -> int:
        return len(self._waiting)

    def claims(self) -> Iterator[Claim]:
        return (suspect.claim for suspect in self._waiting.values())

    def take(self, claim: Claim, most: int) -> bool:
        """Whether it is seen to: it begins isolated, waits for that, or was given back. `most` may wait here."""
        isolation = self._isolation
        if claim.token in self._cleared:
            self._cleared.remove(claim.token)
            return False
        if self._closed or not isolation.possible(claim):
            return False
        insists = claim.crashes > 1
        if not self._waiting and isolation.take_place(insists):
            self._begin_now(claim)
            return True
        full = len(self._waiting) >= most
        if insists:
            if full and not isolation.burst:
                self._back(claim, "others that crashed before are isolated first")
            else:
                self._wait(claim, min(HELD_SECONDS, isolation.patience), insists=True)
            return True
        if full or isolation.stuck:
            return False
        self._wait(claim, min(ONCE_SECONDS, isolation.patience), insists=False)
        return True

    def _wait(self, claim: Claim, seconds: float, insists: bool) -> None:
        self._waiting[claim.token] = _Suspect(claim, self._loop.time() + seconds, insists)
        if self._timer is None:
            self._timer = self._loop.call_later(min(STUCK_SECONDS, self._isolation.patience), self._wake)
        self.look()

    def _back(self, claim: Claim, why: str) -> None:
        self._give_back(claim, why, self._isolation.back_seconds(len(self._waiting)))

    def pop(self, token: int) -> Claim | None:
        """It is no longer ours, or nobody wants it any more."""
        suspect = self._waiting.pop(token, None)
        return None if suspect is None else suspect.claim

    def clear(self) -> list[Claim]:
        claims = list(self.claims())
        self._waiting.clear()
        self._cleared.clear()
        return claims

    def close(self) -> None:
        """From now on none begins."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def look(self) -> None:
        """Begin those for which there is a place."""
        while self._waiting and not self._closed and self._is_sure():
            first = next(iter(self._waiting.values()))
            possible = self._isolation.possible(first.claim)
            if possible and not self._isolation.take_place(first.insists):
                return
            del self._waiting[first.claim.token]
            (self._begin_now if possible else self._clear)(first.claim)

    def _clear(self, claim: Claim) -> None:
        self._cleared.add(claim.token)
        self._among_others(claim)

    def _begin_now(self, claim: Claim) -> None:
        log.info("%s %s (attempt %d) crashed before: it runs in a process of its own",
                 claim.type, claim.id, claim.attempt)  # fmt: skip
        self._begin(claim)

    def _wake(self) -> None:
        """Nobody waits here for ever, and nobody waits for what does not move."""
        self._timer = None
        now, stuck = self._loop.time(), self._isolation.stuck
        for suspect in list(self._waiting.values()):
            if suspect.until > now and (suspect.insists or not stuck):
                continue
            del self._waiting[suspect.claim.token]
            if suspect.insists:
                self._back(suspect.claim, "it waits to be isolated")
            else:
                self._clear(suspect.claim)
        if self._waiting and not self._closed:
            self._timer = self._loop.call_later(STUCK_SECONDS, self._wake)
