"""Processes that enqueue, cancel and operate, and what they do when they do not know what became of it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, TypeVar

import msgspec

from penstock import AlreadyRetried, CommitUncertain, EnqueueUncertain, JobCall, StoreError, UnknownJob, UsageError
from penstock.client.schedules.book import ScheduleBook
from penstock.domain.job import FINAL, State
from penstock.store.contract import (
    CancelJob,
    DeadFilter,
    ListDead,
    ListJobs,
    PauseWork,
    RecoverJobs,
    ResumeWork,
    RetryDead,
)
from tests.simulation.features import Theme
from tests.simulation.jobs import bind
from tests.simulation.orders import Order
from tests.simulation.process import Process, Surroundings
from tests.simulation.schedules import NAMES
from tests.simulation.weather import STALE_SECONDS

T = TypeVar("T")
Asked = TypeVar("Asked")

PAUSE_SECONDS = 0.3
LOOK_SECONDS = 2.0
OPERATED = frozenset({"cancel", "requeued", "pause"})
CANCELLED = 2
HURRY_SECONDS = 0.008
"""So long it takes the leader to look what is due and to take it, when nothing is wrong."""
PAUSED_TYPES = ("work", "chain", "pay", "charge", "careful", "pack", "rare")
OPEN = frozenset(State) - FINAL


class ClientProcess(Process, Generic[Asked]):
    """Enqueues what was ordered. One that takes the place of another begins where that one was."""

    def __init__(self, name: str, orders: list[Asked], around: Surroundings) -> None:
        super().__init__(name, around)
        self.orders = orders
        self._rest: set[asyncio.Task[None]] = set()

    def go_on(self, task: asyncio.Task[None]) -> None:
        """With something that is done beside the enqueues."""
        self._rest.add(task)
        task.add_done_callback(self._rest.discard)

    async def rest_done(self) -> None:
        while self._rest:
            await asyncio.wait(list(self._rest))


class JobsProcess(ClientProcess[Order]):
    """Enqueues jobs, and cancels some."""

    async def main(self) -> None:
        while self.orders:
            await asyncio.sleep(max(0.0, self.orders[0].at - self.loop.time()))
            ids = await self._send(self.orders[0])
            order = self.orders.pop(0)
            if ids and order.cancelled_after is not None:
                self._begin_cancel(ids[0], order.cancelled_after)
        await self.rest_done()

    async def _send(self, order: Order) -> list[str]:
        """Until it is known to be stored. With the ids of the first try, it is stored once."""
        calls = self._calls(order)
        while True:
            try:
                return [handle.id for handle in await self.client.aenqueue(calls, None)]
            except EnqueueUncertain as error:
                if order.ids is None and self.random.random() < 0.2:
                    return []  # Somebody who does not care.
                calls = [with_id(call, job_id) for call, job_id in zip(calls, error.ids, strict=True)]
            except StoreError:
                pass  # Nothing was stored: the next try may use the same ids or others.
            await asyncio.sleep(PAUSE_SECONDS * self.random.random())

    def _calls(self, order: Order) -> list[JobCall[object]]:
        calls = [bind(item.kind, item.args, item.options) for item in order.items]
        if order.ids is None:
            return calls
        return [with_id(call, job_id) for call, job_id in zip(calls, order.ids, strict=True)]

    def _begin_cancel(self, job_id: str, seconds: float) -> None:
        self.go_on(self.loop.create_task(self._cancel(job_id, seconds)))

    async def _cancel(self, job_id: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        try:
            await until_known(lambda: self.store.cancel_job(CancelJob(job_id)))
        except UnknownJob:
            pass  # Its options have removed it.


class OperatorProcess(Process):
    """A person who retries dead letters, pauses a type for a while, and now and then looks for lost workers by hand.

    What is a theme of the seed is done more often.
    """

    @property
    def _theme(self) -> Theme:
        return self.around.theme

    async def main(self) -> None:
        while True:
            often = 0.4 if not self._theme.isdisjoint(OPERATED) else 1.0
            await asyncio.sleep(often * LOOK_SECONDS * self.random.uniform(0.5, 1.5))
            try:
                await self._look()
            except StoreError:
                continue  # A person tries again later.

    async def _look(self) -> None:
        page = await self.store.list_dead(ListDead(limit=20 if "requeued" in self._theme else 5))
        wanted = len(page.jobs) if "requeued" in self._theme else min(len(page.jobs), self.random.randint(0, 1))
        for dead in self.random.sample(page.jobs, wanted):
            await self._retry(dead.id)
        if self.random.random() < 0.3:
            await self.store.recover_jobs(RecoverJobs(STALE_SECONDS))
        if "cancel" in self._theme:
            await self._cancel_some()
        often = 1.0 if "pause" in self._theme else 0.5
        if not self.around.weather.only_deaths and self.random.random() < often:  # Else pickups are timed.
            await self._pause()

    async def _cancel_some(self) -> None:
        """Of those that nobody but the store knows: follow-ups, and what schedules have made."""
        found = await self.store.list_jobs(ListJobs(states=OPEN, limit=20))
        for job in self.random.sample(found, min(len(found), CANCELLED)):
            try:
                await until_known(partial(self.store.cancel_job, CancelJob(job.id)))
            except (UnknownJob, UsageError):
                continue  # Its options have removed it, or it is only planned.

    async def _pause(self) -> None:
        names = tuple(self.random.sample(PAUSED_TYPES, 2))
        await until_known(lambda: self.store.pause_work(PauseWork(kind="type", names=names, force=True)))
        await asyncio.sleep(self.random.uniform(0.1, 1.5))
        await until_known(lambda: self.store.resume_work(ResumeWork(kind="type", names=names, force=True)))

    async def _retry(self, job_id: str) -> None:
        new_id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        params = RetryDead(filter=DeadFilter(ids=(job_id,)), new_ids=[new_id])
        try:
            await until_known(lambda: self.store.retry_dead(params))
        except (AlreadyRetried, UnknownJob):
            pass  # The first try was stored after all, or somebody else was quicker.


class HurriedProcess(Process):
    """A person who runs schedules by hand, at the worst moment: while the leader takes their ticks."""

    async def main(self) -> None:
        while True:
            to_tick = 1.0 - self.loop.time() % 1.0
            await asyncio.sleep(to_tick + self.random.uniform(0.0, HURRY_SECONDS))
            try:
                await ScheduleBook(self.client).arun(self.random.choice(NAMES))
            except StoreError:
                continue


class ResumingProcess(Process):
    """A person who sees to it, when all is over, that nothing stays paused: not even by a call that comes late."""

    async def main(self) -> None:
        while True:
            names = tuple(pause.name for pause in await until_known(self.store.list_pauses))
            if names:
                await until_known(partial(self.store.resume_work, ResumeWork(kind="type", names=names)))
            await asyncio.sleep(LOOK_SECONDS)


def with_id(call: JobCall[object], job_id: str) -> JobCall[object]:
    return msgspec.structs.replace(call, job_id=job_id)


async def until_known(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer. Only for what may be done twice."""
    while True:
        try:
            return await ask()
        except CommitUncertain:
            await asyncio.sleep(PAUSE_SECONDS)
        except StoreError:
            await asyncio.sleep(PAUSE_SECONDS / 2)
