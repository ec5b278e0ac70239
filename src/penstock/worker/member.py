"""Whoever registers in the store and is heard of: what a worker and a lone coordinator have in common."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from typing import Any

from penstock.coordinator.alerting.unled import Unled
from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties import DUTIES, link_alerts
from penstock.coordinator.leader import Leader
from penstock.domain.clock import Clock
from penstock.domain.errors import PenstockError, StoreError
from penstock.observe.events import Events
from penstock.observe.figures.recorder import Recorder
from penstock.observe.logs import fields
from penstock.observe.metrics.counters import Counters
from penstock.observe.metrics.of_worker import Now
from penstock.observe.redaction import log_error, told
from penstock.observe.trouble import Trouble
from penstock.store.contract import HeartbeatWorker, RegisterWorker, Store
from penstock.system.ids import IdSource
from penstock.worker.liveness.heartbeat import HeartbeatThread
from penstock.worker.liveness.identity import own_identity
from penstock.worker.liveness.outage import FATAL, Patience
from penstock.worker.liveness.own_metrics import OwnMetrics
from penstock.worker.liveness.registration import register
from penstock.worker.settings import WorkerSettings

MakeHeartbeat = Callable[[Store, Clock, float, Callable[[int], None]], HeartbeatThread]


class Member:
    """Has a session from its registration to its end, and another one when the store no longer knows it.

    `kind` is what it is called.
    """

    kind: str
    _heartbeat: HeartbeatThread

    def __init__(self, store: Store, settings: WorkerSettings, clock: Clock) -> None:
        self._logger = logging.getLogger(f"penstock.{self.kind}")
        self._store = store
        self._settings = settings
        self._clock = clock
        self._stopping = asyncio.Event()
        self._registering = False
        self._session = 0
        self._error: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = Trouble(self._logger)
        self._recorder: Recorder | None = None
        self._leads: Callable[[], bool] = lambda: False

    def _newcomer(self) -> RegisterWorker:
        """As what it registers: one that takes no type."""
        settings = self._settings
        return RegisterWorker(
            worker_id=settings.worker_id, host=socket.gethostname(), pid=os.getpid(), version=version("penstock"),
            slots=0, stale_after=settings.stale_after, types=(), capabilities=(), process=own_identity(),
            app_version=settings.app_version,
        )  # fmt: skip

    def _fail(self, error: BaseException) -> None:
        """Something that no waiting will mend: stop, and let run() raise it."""
        raise NotImplementedError

    def _lose_all(self) -> None:
        """Say that it was declared lost. What it held is no longer its own."""
        raise NotImplementedError

    def _log(self, event: str, text: str, *values: object, level: int = logging.INFO, **more: object) -> None:
        self._logger.log(level, text, *values, extra=fields(event, worker_id=self._settings.worker_id, **more))

    def _guard(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A part that must not end by an error unnoticed."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                if not isinstance(error, PenstockError):
                    log_error(self._logger, logging.ERROR, error, "a part of the %s failed", self.kind)
                self._fail(error)

        return asyncio.get_running_loop().create_task(guarded())

    @contextmanager
    def _counting(self, events: Events) -> Iterator[OwnMetrics]:
        """In the block what happens is counted, and shown to whoever asks."""
        settings = self._settings
        recorder = self._recorder = Recorder(settings.worker_id, IdSource(self._clock).next_id)
        counters = Counters(settings.worker_id)
        for observer in (recorder, counters):
            events.add(observer)
        try:
            with closing(OwnMetrics(settings, self._store, self._clock, recorder, counters, self._now)) as metrics:
                yield metrics
        finally:
            for observer in (recorder, counters):
                events.remove(observer)

    def _now(self) -> Now:
        return Now(leads=self._leads(), active={})

    def _make_heartbeat(self, make: MakeHeartbeat) -> HeartbeatThread:
        loop = asyncio.get_running_loop()

        def lost(session: int) -> None:
            loop.call_soon_threadsafe(self._register_again, session)

        self._heartbeat = make(self._store, self._clock, self._settings.heartbeat_interval, lost)
        self._heartbeat.telling = self._trouble.part(passing=True)
        self._heartbeat.recorder = self._recorder
        return self._heartbeat

    def _make_coordinator(self) -> Coordinator:
        settings = self._settings.coordinator
        leader = Leader(self._store, lambda: self._session, self._settings.worker_id, settings.lease, self.kind)
        leader.telling = self._trouble.part(passing=True)
        duties = [duty(self._store, settings) for duty in DUTIES]
        unled = Unled(self._store, settings.alerts, link_alerts(duties).alerting)
        coordinator = Coordinator(leader, duties, self._heartbeat.trusted, self._trouble, unled)
        self._leads = lambda: coordinator.leads
        return coordinator

    async def _register(self) -> None:
        self._session = self._heartbeat.session = await register(self._store, self._newcomer())

    def _register_again(self, session: int) -> None:
        """The store declared it lost (it was silent for too long): begin anew."""
        if self._stopping.is_set() or self._registering or session != self._session:
            return  # Several parts may notice; one new registration is enough.
        self._registering = True
        self._lose_all()
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

    async def _retire(self) -> None:
        """Sign off, with all that was counted: perhaps a page that was not known to be stored, and what came since."""
        if self._session and self._error is None:
            try:
                page = None if self._recorder is None else self._recorder.page()
                await self._store.heartbeat_worker(HeartbeatWorker(self._session, "inactive", page))
                if self._recorder is not None and page is not None:
                    self._recorder.stored(page)
                    if self._recorder.unstored:
                        await self._retire()
            except StoreError as error:
                self._logger.error("could not sign off: %s", told(error))
