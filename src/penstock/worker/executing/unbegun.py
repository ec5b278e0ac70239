"""What one slot group has claimed and not begun: what is next for its slots, and what waits to be isolated."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice

from penstock.store.contract import Claim
from penstock.worker.claiming.ownership import Ownership
from penstock.worker.executing.shared import Shared
from penstock.worker.executing.taken import Slots
from penstock.worker.running.isolation import Suspects

PERMIT_SECONDS = 0.1
"""How long after its claim a job with limits may begin: the moment of its claim is what was counted."""


class Unbegun:
    """`begin_isolated` begins one that has a place, `fill` what is next; `gone` is told when one goes otherwise."""

    def __init__(self, shared: Shared, slots: Slots, begin_isolated: Callable[[Claim], None], fill: Callable[[], None],
                 gone: Callable[[], None]) -> None:  # fmt: skip
        self._loop = asyncio.get_running_loop()
        self._shared = shared
        self._slots = slots
        self._fill = fill
        self._gone = gone
        self.buffer: deque[Claim] = deque()
        self.suspects = Suspects(shared.isolation, begin_isolated, self._begin_among_others, self._release,
                                 lambda: not self.ownership.in_doubt(self._loop.time()))  # fmt: skip
        self.ownership = Ownership(shared.store, self._next, self._go_on, shared.failed)
        self._limited: dict[int, float] = {}
        """When those with limits came, by the loop's clock."""

    def __iter__(self) -> Iterator[Claim]:
        yield from self.buffer
        yield from self.suspects.claims()

    def take(self, claims: list[Claim], asked: float) -> None:
        """Those with limits go first: what was counted is the moment of their claim."""
        self.ownership.take(asked, alone=not self.buffer)
        limited = [claim for claim in claims if claim.gates]
        if limited:
            self._limited |= dict.fromkeys((claim.token for claim in limited), self._loop.time())
            claims = [claim for claim in claims if not claim.gates]
            self.buffer.extendleft(reversed(limited))
        self.buffer.extend(claims)

    def is_late(self, claim: Claim, now: float) -> bool:
        """Whether one with limits has waited here for longer than it may."""
        return now - self._limited.pop(claim.token, now) > PERMIT_SECONDS

    def note_idle(self) -> None:
        """Nothing is here any more."""
        self._limited.clear()

    # Whether it still is this worker's: see ownership.py

    def _next(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens of all, and the starts of those that are next."""
        now = self._shared.clock.us(self._loop.time())
        return [one.token for one in self], [(one.token, now) for one in islice(self.buffer, self._slots.free)]

    def _go_on(self, lost: list[int]) -> None:
        """The store has said what is still ours."""
        for token in lost:
            self.drop(token)
        self._fill()
        self.suspects.look()
        self._gone()

    def drop(self, token: int) -> None:
        """It is no longer ours."""
        for claim in [claim for claim in self if claim.token == token]:
            if self.suspects.pop(token) is None:
                self.buffer.remove(claim)
            self._shared.freed(claim)
        self._gone()

    def drop_all(self) -> None:
        self.buffer.clear()
        self.suspects.clear()

    # What crashed before: see isolation.py

    def set_apart(self, claim: Claim) -> bool:
        """Whether it is seen to there. What runs in a process anyway is isolated as it is."""
        if self._slots.group.processes or self._shared.plans.get(claim.type) is None:
            return False
        self._limited.pop(claim.token, None)  # That it may have to wait is worth a little less precision.
        return self.suspects.take(claim, self._slots.group.slots)

    def _begin_among_others(self, claim: Claim) -> None:
        self.buffer.appendleft(claim)
        self._fill()

    def cancel(self, token: int) -> None:
        """A person has cancelled it: given back, it ends cancelled. In the buffer it comes to that by itself."""
        if (claim := self.suspects.pop(token)) is not None:
            self._release(claim, "cancelled before it began")

    # Giving back

    def let_go(self, claim: Claim, why: str, delay: float = 0.0) -> None:
        self._shared.outcomes.release(claim, why, delay)
        self._shared.freed(claim)

    def _release(self, claim: Claim, why: str, delay: float = 0.0) -> None:
        self.let_go(claim, why, delay)
        self._gone()

    def give_back(self, why: str, keep: int = 0) -> None:
        """Release what was claimed ahead, but for so many of those that are next."""
        while len(self.buffer) > keep:
            self.let_go(self.buffer.pop(), why)

    def give_back_all(self, why: str) -> None:
        self.buffer.extend(self.suspects.clear())
        self.give_back(why)

    def close(self) -> None:
        self.ownership.close()
        self.suspects.close()
