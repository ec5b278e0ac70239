"""Keeps the slots supplied: claims as much as the worker can begin soon, and waits for a hint when there is nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from penstock.domain.errors import StoreError, WorkerInactive, WorkerRefused
from penstock.observe.redaction import told
from penstock.observe.trouble import Trouble
from penstock.store.contract import Claimed, ClaimJobs, Store
from penstock.worker.claiming.balancing import BITES, GIVE_WAY_SECONDS, Balancing
from penstock.worker.claiming.budget import Budget
from penstock.worker.claiming.past_limits import PastLimits
from penstock.worker.executing.executor import Executor
from penstock.worker.finishing.finisher import Finisher
from penstock.worker.liveness.outage import FATAL, Patience, within
from penstock.worker.settings import WorkerSettings

PREFETCH_MAX = 2000
PREFETCH_SECONDS = 0.05
LOOK_AGAIN_SECONDS = 5.0
HELD_SECONDS_MAX = 1.0

log = logging.getLogger("penstock.worker")


class ClaimLoops:
    """What the claim loops of one worker share. In burst mode they end together, when all are dry.

    A loop that ended alone would leave a job waiting that another group still enqueues.
    """

    def __init__(
        self, executors: Sequence[Executor], budget: Budget, finisher: Finisher, trouble: Trouble | None = None
    ) -> None:
        self._executors = executors
        self._dry: dict[int, int] = {}
        self.budget = budget
        self.finisher = finisher
        self.taken = 0
        self.trouble = trouble or Trouble(log)
        self.refusals = Trouble(log, "claims are still refused", "claims are no longer refused")

    @property
    def idle(self) -> bool:
        return all(executor.idle.is_set() for executor in self._executors)

    async def until_idle(self) -> None:
        for executor in self._executors:
            await executor.idle.wait()

    def begin(self) -> None:
        """All look again, whatever they found before."""
        self._dry.clear()

    def note_dry(self, executor: Executor, taken: int) -> None:
        """It found nothing, by a claim that began with nothing running, after so many jobs were taken in all."""
        self._dry[id(executor)] = taken

    @property
    def over(self) -> bool:
        return self.idle and all(self._dry.get(id(executor)) == self.taken for executor in self._executors)


class Claimer:
    """The claim loop. Prefetches only what the measured pace would begin within a few milliseconds."""

    def __init__(self, store: Store, executor: Executor, settings: WorkerSettings, session: Callable[[], int],
                 loops: ClaimLoops, balancing: Balancing) -> None:  # fmt: skip
        self._store = store
        self._executor = executor
        self._settings = settings
        self._session = session
        self._balancing = balancing
        self._past_limits = PastLimits(settings.limits or ())
        self._bite: int | None = None
        """How much to claim at most, while others may want some of it too; None is no limit."""
        self._loop = asyncio.get_running_loop()
        self._prefetch = 0
        self._limited = 0.0
        """Which share of the last claim were jobs with limits: those are not claimed ahead."""
        self._loops = loops
        self._pace = 0.0
        self._paced_at = self._loop.time()
        self._paced_ended = 0
        self.hint = asyncio.Event()
        self.turn: int | None = None
        """The number of the last hint."""
        self.register_again: Callable[[int], None] = lambda session: None

    async def run(self) -> None:
        """Claim until cancelled; in burst mode, until nothing is due and nothing runs."""
        outage, refusal = Patience(self._loops.trouble.part()), Patience(self._loops.refusals.part())
        while True:
            want = self._demand()
            if want <= 0:
                await self._until_room()
                continue
            want = min(want, self._bite or want)
            self.hint.clear()
            self.turn = None
            settled, taken = self._loops.idle, self._loops.taken
            if settled and self._settings.burst:
                await self._loops.finisher.flush()  # A retry that is due at once must be seen by the last claim.
            session, asked = self._session(), self._loop.time()
            try:
                async with self._loops.budget.turn:
                    claimed = await self._claim(want)
                outage.over()
                refusal.over()
            except WorkerRefused as error:
                outage.over()  # The store answers: however long it did not is over.
                if not isinstance(error, WorkerInactive):
                    self.register_again(session)
                await refusal.wait("claim refused", error, self.hint)
                continue
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                await outage.wait("could not claim", error, self.hint)
                continue
            if claimed.jobs:
                self._limited = sum(job.gates is not None for job in claimed.jobs) / len(claimed.jobs)
            self._loops.taken += len(claimed.jobs)
            self._past_limits.look(claimed.jobs)
            self._executor.take(claimed.jobs, claimed.claimed_at, asked)
            if len(claimed.jobs) == want:
                await self._take_more()
            elif await self._dry(claimed, taken if settled else None):
                return

    def _demand(self) -> int:
        """How many jobs to claim now: the free slots and a bounded prefetch, in batches worth a transaction."""
        executor, slots = self._executor, self._executor.slots.group.slots
        self._measure_pace()
        held = executor.slots.occupied + len(executor.buffer)
        if held >= slots and len(executor.buffer) > executor.low_water:
            return 0
        ahead = int(self._prefetch * (1 - self._limited))
        return min(slots + ahead - held, executor.room_left)

    def _measure_pace(self) -> None:
        now = self._loop.time()
        elapsed = now - self._paced_at
        if elapsed >= PREFETCH_SECONDS:
            pace = (self._executor.ended - self._paced_ended) / elapsed
            self._pace = pace if pace < self._pace else (self._pace + pace) / 2
            self._paced_at, self._paced_ended = now, self._executor.ended
            self._prefetch = min(PREFETCH_MAX, int(self._pace * PREFETCH_SECONDS))
            self._executor.low_water = self._prefetch // 2

    def forget_pace(self) -> None:
        """With other slots there is another pace: nothing is claimed ahead until it is known."""
        self._pace, self._prefetch, self._executor.low_water = 0.0, 0, 0
        self._paced_at, self._paced_ended = self._loop.time(), self._executor.ended

    async def _claim(self, want: int) -> Claimed:
        settings, budget, executor = self._settings, self._loops.budget, self._executor
        at_once = max(0, executor.slots.free - len(executor.buffer))
        types = executor.slots.group.types
        claiming = asyncio.ensure_future(self._store.claim_jobs(ClaimJobs(
            self._session(), want, types, settings.queues, settings.capabilities, settings.resources,
            budget.free(), budget.caps(types), at_once, settings.tenant_weights,
        )))  # fmt: skip
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            # The claim is on its way and will be committed: take it, so that it can be released at once.
            try:
                jobs = (await claiming).jobs
                self._executor.buffer.extend(jobs)
            except (StoreError, WorkerRefused) as error:
                log.warning("the last claim before stopping failed: %s", told(error))
            raise

    async def _dry(self, claimed: Claimed, taken: int | None) -> bool:
        """Nothing more to claim. True in burst mode when all is done; otherwise returns when there may be news."""
        if self._settings.burst and taken is not None and not claimed.jobs:
            self._loops.note_dry(self._executor, taken)
            if self._loops.over:
                return True
        timeout = LOOK_AGAIN_SECONDS
        if claimed.next_due_at is not None:
            timeout = min(timeout, max(0.0, (claimed.next_due_at - claimed.claimed_at) / 1e6))
        if self._settings.burst:
            self._executor.runners.hurry()
            await self._hint_or_idle(timeout)
        else:
            await within(timeout, self.hint)
            if not self.hint.is_set():
                self.turn = claimed.next_due_at  # It becomes due for all at the same moment.
            await self._give_way()
        return False

    # Leaving others their share: see balancing.py

    async def _give_way(self) -> None:
        """There may be new work, and others may want it too."""
        self._bite = max(1, self._executor.slots.group.slots // BITES) if self._balancing.shared else None
        if pause := self._balancing.pause(self.turn):
            await asyncio.sleep(pause)

    async def _take_more(self) -> None:
        """There was as much as was asked for. After the first bite the others have their chance; then take more."""
        if self._bite is None:
            return
        slots = self._executor.slots.group.slots
        if self._bite == max(1, slots // BITES):
            await asyncio.sleep(GIVE_WAY_SECONDS)
        self._bite = self._bite * 2 if self._bite * 2 < slots else None

    async def _until_room(self) -> None:
        """Wait until more can be claimed. What was fetched ahead and begins more slowly than thought is given back, if
        others could begin it: they have free slots, and the start timeout would judge it as held and not begun.
        """
        executor = self._executor
        executor.room.clear()
        if not await within(HELD_SECONDS_MAX if executor.buffer else None, executor.room):
            self._measure_pace()
            if len(executor.buffer) > self._prefetch and self._balancing.shared:
                executor.unbegun.give_back("another worker can begin it sooner", keep=self._prefetch)

    async def _hint_or_idle(self, timeout: float) -> None:
        idle = asyncio.ensure_future(self._loops.until_idle())
        hint = asyncio.ensure_future(self.hint.wait())
        try:
            await asyncio.wait({idle, hint}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            idle.cancel()
            hint.cancel()
