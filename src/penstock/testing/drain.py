"""The store as the worker of one run() sees it: time moves on when nothing is left to do, and the work has a bound."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.domain.job import ErrorInfo, Event, State
from penstock.store.contract import Claim, Claimed, ClaimJobs, Finished, FinishJobs, Unfinished
from penstock.testing.clock import FakeClock
from penstock.testing.watched import WatchedStore

ASK_AGAIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that ended. `state` is what becomes of its job, unless a cancellation came first."""

    claim: Claim
    state: State
    error: ErrorInfo | None = None
    reason: str | None = None
    snoozed: bool = False


class AttemptBudget:
    """How many attempts may begin, and which have begun. Shared by a run and those inside its handlers."""

    def __init__(self, limit: int) -> None:
        self.left = limit + 1
        self.began: Counter[str] = Counter()

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def begin(self, claims: list[Claim]) -> None:
        self.left -= len(claims)
        self.began.update(claim.type for claim in claims)


class Drain:
    """Hands calls on. When every line of the worker asks for work, none is due and nothing runs, time moves on."""

    def __init__(
        self,
        store: WatchedStore,
        clock: FakeClock,
        attempts: list[Attempt],
        budget: AttemptBudget,
        until_us: int | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._attempts = attempts
        self._budget = budget
        self._until_us = until_us
        self._held: dict[int, Claim] = {}
        self._asking = 0
        self._news: asyncio.Future[bool] | None = None
        self._over = False
        self.groups = 1
        """How many lines of the worker claim, each for its own types."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim_jobs(self, params: ClaimJobs) -> Claimed:
        while not self._budget.spent:
            ask = msgspec.structs.replace(params, limit=min(params.limit, self._budget.left))
            claimed: Claimed = await self._store.claim_jobs(ask)
            if claimed.jobs:
                self._budget.begin(claimed.jobs)
                self._held |= {claim.token: claim for claim in claimed.jobs}
                self._over = False
                return claimed
            if not await self._worth_asking_again(claimed.next_due_at):
                return claimed
        return Claimed([], self._clock.now_us(), None)

    async def _worth_asking_again(self, next_due_us: int | None) -> bool:
        """Wait for news: an attempt that ended, time that moved, or that nothing will come."""
        if self._over and not self._held:
            return False
        self._asking += 1
        try:
            if self._asking == self.groups and not self._held:
                return self._tell(self._leap(next_due_us))
            if self._news is None:
                self._news = asyncio.get_running_loop().create_future()
            # Bounded, because a worker that stops waits for the claim that is on its way.
            told, _ = await asyncio.wait({self._news}, timeout=ASK_AGAIN_SECONDS)
            return any(news.result() for news in told)
        finally:
            self._asking -= 1

    def _tell(self, news: bool) -> bool:
        if self._news is not None:
            self._news.set_result(news)
            self._news = None
        return news

    def _leap(self, due_us: int | None) -> bool:
        """Move on to the next due moment, if there is one in reach."""
        if due_us is None or (self._until_us is not None and due_us > self._until_us):
            self._over = True
            return False
        self._clock.leap_to(due_us)
        return True

    def finish_jobs(self, params: FinishJobs) -> Any:
        if params.transaction is not None:  # The worker tells how the attempt ended when it knows.
            return self._store.finish_jobs(self._as_here(params))
        return self._finish(params)

    async def _finish(self, params: FinishJobs) -> Finished:
        told: Finished = await self._store.finish_jobs(self._as_here(params))
        for done in params.completed:
            self._note(done.token, State.COMPLETED)
        for end in params.unfinished:
            self._note(end.token, _STATE_AFTER[end.event], end)
        self._tell(True)
        return told

    def _as_here(self, params: FinishJobs) -> FinishJobs:
        """Workers measure in real time, which goes on while this clock stands still: nothing starts after its end.

        A retry is left to nobody else: the others there are run the handlers that wait for this job.
        """
        now = self._clock.now_us()
        replace = msgspec.structs.replace
        completed = [replace(done, started_at=min(done.started_at, now)) for done in params.completed]
        unfinished = [
            replace(end, started_at=end.started_at and min(end.started_at, now), elsewhere=False)
            for end in params.unfinished
        ]
        return replace(params, completed=completed, unfinished=unfinished)

    def _note(self, token: int, state: State, end: Unfinished | None = None) -> None:
        claim = self._held.pop(token, None)
        if claim is not None:
            error = msgspec.json.decode(end.error, type=ErrorInfo) if end and end.error else None
            snoozed = end is not None and end.event is Event.SNOOZE
            self._attempts.append(Attempt(claim, state, error, end.reason if end else None, snoozed))


_STATE_AFTER = {
    Event.FAIL: State.DEAD,
    Event.CANCEL: State.CANCELLED,
    Event.BACK_OFF: State.SCHEDULED,
    Event.RELEASE: State.PENDING,
    Event.SNOOZE: State.SCHEDULED,
}
