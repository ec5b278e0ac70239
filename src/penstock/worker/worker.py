"""A worker from start to end: register, supply, run, finish; drain and release on a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Coroutine
from importlib.metadata import version
from typing import Any

from penstock.client import Client
from penstock.domain.clock import Clock
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, PenstockError, StoreError
from penstock.domain.registry import Registry
from penstock.store.contract import Listener, Store
from penstock.store.params import HeartbeatWorker, ReadSignals, RegisterWorker
from penstock.worker.claimer import Claimer
from penstock.worker.duties import prune_regularly, recover_regularly
from penstock.worker.executor import STOP_SECONDS, Executor
from penstock.worker.finisher import Finisher
from penstock.worker.heartbeat import Heartbeat
from penstock.worker.leaks import cancel_leaked_tasks, remember_tasks
from penstock.worker.outage import FATAL, Patience
from penstock.worker.reporter import Reporter
from penstock.worker.run import Stop
from penstock.worker.settings import Lifespan, WorkerSettings
from penstock.worker.watchdog import Watchdog

SIGNAL_SECONDS = 0.1
LISTEN_SECONDS = 1.0
FLUSH_SECONDS = 10.0

log = logging.getLogger("penstock.worker")


class Worker:
    """One worker. `run()` returns when it was stopped, or, in burst mode, when nothing is left."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        client: Client,
        settings: WorkerSettings,
        clock: Clock,
        lifespan: Lifespan,
    ) -> None:
        self._store = store
        self._registry = registry
        self._client = client
        self._settings = settings
        self._clock = clock
        self._lifespan = lifespan
        self._types = _served_types(registry, settings)
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._error: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._session = 0
        self._registering = False
        self._starting: asyncio.Task[Any] | None = None
        self._executor: Executor | None = None

    # Stopping, from outside

    def stop(self) -> None:
        """The first call stops in order: no more claims, running jobs may finish. The second stops at once, safely."""
        if self._stopping.is_set():
            if not self._hurry.is_set():
                log.warning("stopping at once; running jobs are released")
            self._hurry.set()
            if self._starting is not None:
                self._starting.cancel()
        else:
            log.info("stopping: finishing what runs (at most %s)", format_duration(self._settings.shutdown_timeout))
            self._stopping.set()

    def _fail(self, error: BaseException) -> None:
        """Something that no waiting will mend: stop, and let run() raise it."""
        self._error = self._error or error
        self._stopping.set()
        self._hurry.set()

    # Running

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self._before = remember_tasks()
        self._starting = asyncio.current_task()
        listener = self._store.listen(self._settings.poll_interval)

        def lost(session: int) -> None:
            loop.call_soon_threadsafe(self._register_again, session)

        heartbeat = Heartbeat(self._store, self._clock, self._settings.heartbeat_interval, lost)
        watchdog = Watchdog(self._registry)
        try:
            await self._register(listener, heartbeat)
            heartbeat.start(self._session)
            log.info(
                "worker %s started: %d slots on %s",
                self._settings.worker_id,
                self._settings.concurrency,
                self._store.address,
            )
            async with self._lifespan() as resources:
                self._starting = None
                await self._work(listener, heartbeat, resources)
        except asyncio.CancelledError:
            if self._starting is None or not self._hurry.is_set():
                raise
            self._starting.uncancel()
            log.warning("stopped before the start was complete")
        finally:
            heartbeat.stop()
            watchdog.close()
            listener.close()
            await self._retire()
        if self._error is not None:
            raise self._error

    async def _work(self, listener: Listener, heartbeat: Heartbeat, resources: Any) -> None:
        settings = self._settings
        finisher = Finisher(self._store, settings.history, self._fail)
        executor = Executor(self._registry, self._client, finisher, settings, resources, self._fail)
        claimer = Claimer(self._store, executor, finisher, settings, lambda: self._session, self._types)
        claimer.register_again = self._register_again
        self._executor, self._heartbeat, self._listener = executor, heartbeat, listener
        reporter = Reporter(self._store, executor)
        finishing = self._guard(finisher.run())
        claiming = self._guard(claimer.run())
        self._tasks = [
            finishing,
            self._guard(reporter.run()),
            self._guard(self._listen(listener, claimer, executor)),
            self._guard(recover_regularly(self._store, settings, heartbeat)),
            self._guard(prune_regularly(self._store, settings)),
        ]
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({claiming, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._hurry.set()
            raise
        finally:
            stopping.cancel()
            await asyncio.shield(self._drain(claiming, executor, finisher, heartbeat))

    def _guard(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A part of the worker that must not end by an error unnoticed."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                if not isinstance(error, PenstockError):
                    log.exception("a part of the worker failed")
                self._fail(error)

        return asyncio.get_running_loop().create_task(guarded())

    async def _listen(self, listener: Listener, claimer: Claimer, executor: Executor) -> None:
        """Hints for the claimer, and word of attempts that were cancelled or lost."""
        loop = asyncio.get_running_loop()
        looked, news = 0.0, False
        while True:
            if await listener.wait(SIGNAL_SECONDS if news else LISTEN_SECONDS):
                news = True
                claimer.hint.set()
            if news and loop.time() - looked >= SIGNAL_SECONDS:
                looked, news = loop.time(), False
                if executor.active:
                    await self._heed_signals(executor)

    async def _heed_signals(self, executor: Executor) -> None:
        runs = dict(executor.active)
        try:
            signals = await self._store.read_signals(ReadSignals(self._session, list(runs)))
        except StoreError as error:
            log.warning("could not read cancellations: %s", error)
            return
        for token in signals.cancelled:
            executor.stop(runs[token], Stop.CANCELLED)
        for token in signals.lost:
            executor.stop(runs[token], Stop.LOST)

    # Registration

    async def _register(self, listener: Listener, heartbeat: Heartbeat) -> None:
        settings = self._settings
        self._session = await self._store.register_worker(
            RegisterWorker(
                worker_id=settings.worker_id,
                host=socket.gethostname(),
                pid=os.getpid(),
                version=version("penstock"),
                slots=settings.concurrency,
                stale_after=settings.stale_after,
                queues=settings.queues,
                capabilities=settings.capabilities,
                resources=settings.resources,
                types={declaration.name: declaration.options for declaration in self._registry},
                bell=listener.bell,
            )
        )
        heartbeat.session = self._session

    def _register_again(self, session: int) -> None:
        """The store declared this worker lost (it was silent for too long): its jobs are gone; begin anew."""
        if self._stopping.is_set() or self._registering or session != self._session or self._executor is None:
            return  # Heartbeat and claimer may both notice; one new registration is enough.
        log.warning("this worker was declared lost: its jobs were recovered by others; registering again")
        self._registering = True
        self._executor.lose_all()
        self._tasks.append(self._guard(self._keep_registering()))

    async def _keep_registering(self) -> None:
        patience = Patience()
        while self._registering:
            try:
                await self._register(self._listener, self._heartbeat)
                self._registering = False
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                await patience.wait("could not register again", error)

    async def _retire(self) -> None:
        if self._session and self._error is None:
            try:
                await self._store.heartbeat_worker(HeartbeatWorker(self._session, "inactive"))
            except StoreError as error:
                log.error("could not sign off: %s", error)

    # Draining

    async def _drain(
        self, claiming: asyncio.Task[None], executor: Executor, finisher: Finisher, heartbeat: Heartbeat
    ) -> None:
        self._stopping.set()
        heartbeat.status = "draining"
        claiming.cancel()
        await asyncio.wait({claiming})
        executor.release_buffer()
        await self._until_idle(executor, self._settings.shutdown_timeout)
        if executor.active:
            log.warning("releasing %d jobs that did not finish in time", len(executor.active))
            executor.stop_all(Stop.RELEASED)
            self._hurry.clear()
            await self._until_idle(executor, STOP_SECONDS + 1)
            executor.give_up_all()
        await self._flush(finisher)
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        executor.close()
        await cancel_leaked_tasks(
            self._before | {task for task in asyncio.all_tasks() if task is asyncio.current_task()}
        )
        log.info("worker %s stopped", self._settings.worker_id)

    async def _until_idle(self, executor: Executor, timeout: float) -> None:
        idle = asyncio.ensure_future(executor.idle.wait())
        hurry = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait({idle, hurry}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        hurry.cancel()

    async def _flush(self, finisher: Finisher) -> None:
        if self._error is not None:
            return
        try:
            await asyncio.wait_for(finisher.flush(), FLUSH_SECONDS)
        except TimeoutError:
            log.error("%d outcomes could not be stored before stopping; those jobs will run again", finisher.waiting)


def _served_types(registry: Registry, settings: WorkerSettings) -> tuple[str, ...]:
    """The names of jobs that this worker may claim: never one without a handler."""
    known = registry.names()
    if not known:
        raise ConfigError("this app declares no jobs, so a worker would have nothing to do: declare one with @app.job")
    if settings.types is None:
        return known
    missing = [name for name in settings.types if name not in known]
    if missing:
        raise ConfigError(f"no handler is declared for: {', '.join(missing)}; declared are: {', '.join(sorted(known))}")
    return settings.types
