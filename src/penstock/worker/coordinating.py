"""A coordinator by itself: it asks for the lead and does the duties for all, and runs no jobs.

It registers as a worker does, since the lead is given to sessions that are heard of, but as one that takes no type: so
it counts nowhere as a worker that could run something.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties import DUTIES
from penstock.coordinator.leader import Leader
from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError, PenstockError, StoreError, StoreMissing
from penstock.domain.options import Options
from penstock.observe.logs import fields
from penstock.observe.redaction import log_error, told
from penstock.observe.trouble import Trouble
from penstock.store.contract import Store
from penstock.store.params import HeartbeatWorker, ReadSignals, RegisterWorker
from penstock.worker.heartbeat import Heartbeat
from penstock.worker.identity import own_identity
from penstock.worker.outage import FATAL, Patience
from penstock.worker.predecessor import register
from penstock.worker.settings import WorkerSettings

ORDERS_SECONDS = 1.0
"""How often it looks whether a person told it to drain."""

TAKEN = (
    "worker_id", "heartbeat_interval", "recovery_interval", "start_timeout", "start_check_interval", "probe_interval",
    "prune_interval", "schedule_interval", "leader_lease", "ageing", "failing_queues", "retention", "schedules",
)  # fmt: skip
"""The settings of a worker that mean something here."""

log = logging.getLogger("penstock.coordinator")


def refuse_others(settings: Iterable[str]) -> None:
    """An error for a setting that would be given in vain."""
    for name in settings:
        if name not in TAKEN:
            raise ConfigError(f"setting {name!r} means nothing to a coordinator, which takes: {', '.join(TAKEN)}")


class LoneCoordinator:
    """`run()` returns when it was stopped, by a signal or by an operator's drain."""

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        clock: Clock,
        prepare: Callable[[], Awaitable[None]],
        declared: Mapping[str, Options] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._declared = dict(declared)
        self._settings = settings
        self._clock = clock
        self._prepare = prepare
        self._stopping = asyncio.Event()
        self._registering = False
        self._started = False
        self._session = 0
        self._error: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = Trouble(log)

    def stop(self) -> None:
        if not self._stopping.is_set():
            log.info("stopping: leaving the lead to others",
                     extra=fields("coordinator.stopping", worker_id=self._settings.worker_id))  # fmt: skip
        self._stopping.set()

    async def run(self, started: Callable[[], None] | None = None) -> None:
        """Until it is stopped. `started` is called when the store has taken it, under its name."""
        loop = asyncio.get_running_loop()
        settings = self._settings

        def lost(session: int) -> None:
            loop.call_soon_threadsafe(self._register_again, session)

        heartbeat = self._heartbeat = Heartbeat(self._store, self._clock, settings.heartbeat_interval, lost)
        heartbeat.telling = self._trouble.part(passing=True)
        leader = Leader(
            self._store, lambda: self._session, settings.worker_id, settings.coordinator.lease, "coordinator"
        )
        leader.telling = self._trouble.part(passing=True)
        duties = [duty(self._store, settings.coordinator) for duty in DUTIES]
        coordinator = Coordinator(leader, duties, heartbeat.trusted, self._trouble)
        try:
            await self._refuse_missing()
            await self._register()
            heartbeat.start(self._session)
            await self._prepare()
            self._started = True
            if started is not None:
                started()
            log.info("coordinator %s started on %s", settings.worker_id, self._store.address,
                     extra=fields("coordinator.started", worker_id=settings.worker_id))  # fmt: skip
            self._tasks += [self._guard(coordinator.run()), self._guard(self._heed_orders())]
            await self._stopping.wait()
        finally:
            await asyncio.shield(self._leave(coordinator))
        if self._error is not None:
            raise self._error

    async def _leave(self, coordinator: Coordinator) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._session and self._error is None:
            await coordinator.resign()
        self._heartbeat.stop()
        if self._session and self._error is None:
            try:
                await self._store.heartbeat_worker(HeartbeatWorker(self._session, "inactive"))
            except StoreError as error:
                log.error("could not sign off: %s", told(error))
        if self._started:
            log.info("coordinator %s stopped", self._settings.worker_id,
                     extra=fields("coordinator.stopped", worker_id=self._settings.worker_id))  # fmt: skip

    def _guard(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A part that must not end by an error unnoticed."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                if not isinstance(error, PenstockError):
                    log_error(log, logging.ERROR, error, "a part of the coordinator failed")
                self._error = self._error or error
                self._stopping.set()

        return asyncio.get_running_loop().create_task(guarded())

    async def _heed_orders(self) -> None:
        """Stop when a person says so through the store; and when the store is gone for good."""
        telling = self._trouble.part()
        while True:
            await asyncio.sleep(ORDERS_SECONDS)
            session = self._session
            try:
                orders = await self._store.read_signals(ReadSignals(session, ()))
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                telling.failed("could not read orders", error)
                continue
            telling.worked()
            if orders.status == "draining" and session == self._session:
                self.stop()

    # Registration

    async def _refuse_missing(self) -> None:
        """It looks after a store, and makes none: an address that is wrong would go unnoticed."""
        if (await asyncio.to_thread(self._store.migration_status)).current == 0:
            raise StoreMissing(
                f"there is no store at {self._store.address}, and a coordinator makes none; check the address, or make "
                "one with: penstock migrate"
            )

    async def _register(self) -> None:
        settings = self._settings
        self._session = await register(
            self._store,
            RegisterWorker(
                worker_id=settings.worker_id, host=socket.gethostname(), pid=os.getpid(), version=version("penstock"),
                slots=0, stale_after=settings.stale_after, types=(), capabilities=(), process=own_identity(),
                declared=self._declared,
            ),
        )  # fmt: skip
        self._heartbeat.session = self._session

    def _register_again(self, session: int) -> None:
        if self._stopping.is_set() or self._registering or session != self._session:
            return
        log.warning("this coordinator was declared lost, or a backup was restored: registering again",
                    extra=fields("coordinator.lost", worker_id=self._settings.worker_id))  # fmt: skip
        self._registering = True
        self._tasks.append(self._guard(self._keep_registering()))

    async def _keep_registering(self) -> None:
        patience = Patience(self._trouble.part())
        while self._registering:
            try:
                await self._register()
                self._registering = False
                patience.over()
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                await patience.wait("could not register again", error)
