"""A coordinator by itself: it asks for the lead and does the duties for all, and runs no jobs.

It registers as a worker does, since the lead is given to sessions that are heard of, but as one that takes no type: so
it counts nowhere as a worker that could run something.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from penstock.coordinator.coordinator import Coordinator
from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError, StoreError, StoreMissing
from penstock.domain.options import Options
from penstock.domain.registry import Registry
from penstock.observe.events import Events
from penstock.store.contract import ReadSignals, RegisterWorker, Store
from penstock.worker.liveness.health import Pulse
from penstock.worker.liveness.health_endpoint import HealthEndpoint
from penstock.worker.liveness.heartbeat import HeartbeatThread
from penstock.worker.liveness.outage import FATAL
from penstock.worker.liveness.own_metrics import OwnMetrics
from penstock.worker.liveness.watchdog import Watchdog
from penstock.worker.member import Member
from penstock.worker.settings import WorkerSettings

ORDERS_SECONDS = 1.0
"""How often it looks whether a person told it to drain."""

TAKEN = (
    "worker_id", "health", "health_limits", "metrics", "metrics_prefix", "heartbeat_interval", "recovery_interval",
    "start_timeout", "start_check_interval", "probe_interval", "prune_interval", "schedule_interval",
    "sample_interval", "fold_interval", "leader_lease", "ageing", "failing_queues", "retention", "schedules",
    "alerts",
)  # fmt: skip
"""The settings of a worker that mean something here."""


def refuse_others(settings: Iterable[str]) -> None:
    """An error for a setting that would be given in vain."""
    for name in settings:
        if name not in TAKEN:
            raise ConfigError(f"setting {name!r} means nothing to a coordinator, which takes: {', '.join(TAKEN)}")


class LoneCoordinator(Member):
    """`run()` returns when it was stopped, by a signal or by an operator's drain."""

    kind = "coordinator"

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        clock: Clock,
        prepare: Callable[[], Awaitable[None]],
        declared: dict[str, Options],
        events: Events,
    ) -> None:
        super().__init__(store, settings, clock)
        self._events = events
        self._health_url: str | None = None
        self._declared = declared
        self._prepare = prepare
        self._started = False

    def stop(self) -> None:
        if not self._stopping.is_set():
            self._log("coordinator.stopping", "stopping: leaving the lead to others")
        self._stopping.set()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._stopping.set()

    async def run(self, started: Callable[[], None] | None = None) -> None:
        """Until it is stopped. `started` is called when the store has taken it, under its name."""
        with self._counting(self._events) as metrics:
            await self._run(started, metrics)
        if self._error is not None:
            raise self._error

    async def _run(self, started: Callable[[], None] | None, metrics: OwnMetrics) -> None:
        settings = self._settings
        heartbeat = self._make_heartbeat(HeartbeatThread)
        coordinator = self._make_coordinator()
        watchdog = Watchdog(Registry())
        health: HealthEndpoint | None = None
        try:
            await self._refuse_missing()
            health = HealthEndpoint(settings, self._store, self._clock, self._pulse(watchdog), metrics.answer)
            self._health_url = health.url
            await self._register()
            heartbeat.start(self._session)
            await self._prepare()
            self._started = True
            if started is not None:
                started()
            self._log("coordinator.started", "coordinator %s started on %s", settings.worker_id, self._store.address)
            self._tasks += [self._guard(coordinator.run()), self._guard(self._heed_orders())]
            await self._stopping.wait()
        finally:
            watchdog.close()
            if health is not None:
                health.close()
            await asyncio.shield(self._leave(coordinator))

    def _pulse(self, watchdog: Watchdog) -> Pulse:
        return Pulse(
            worker_id=self._settings.worker_id,
            loop_age=watchdog.age,
            registered=lambda: self._session != 0 and not self._registering,
            stopping=self._stopping.is_set,
            store_trouble=lambda: self._heartbeat.trouble(),
        )

    async def _leave(self, coordinator: Coordinator) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._session and self._error is None:
            await coordinator.resign()
        self._heartbeat.stop()
        await self._retire()
        if self._started:
            self._log("coordinator.stopped", "coordinator %s stopped", self._settings.worker_id)

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

    async def _refuse_missing(self) -> None:
        """It looks after a store, and makes none: an address that is wrong would go unnoticed."""
        if (await asyncio.to_thread(self._store.migration_status)).current == 0:
            raise StoreMissing(
                f"there is no store at {self._store.address}, and a coordinator makes none; check the address, or make "
                "one with: penstock migrate"
            )

    def _lose_all(self) -> None:
        self._log("coordinator.lost", "this coordinator was declared lost, or a backup was restored: registering again",
                  level=logging.WARNING)  # fmt: skip

    def _newcomer(self) -> RegisterWorker:
        return msgspec.structs.replace(super()._newcomer(), declared=self._declared, health=self._health_url)
