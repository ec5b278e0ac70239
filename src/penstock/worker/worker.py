"""A worker from start to end: register, supply, run, finish; drain and release on a signal."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from penstock.client import Client
from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties import DUTIES
from penstock.coordinator.leader import Leader
from penstock.domain.clock import Clock
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, PenstockError, StoreError
from penstock.domain.registry import Registry
from penstock.observe.logs import fields
from penstock.observe.redaction import log_error, told
from penstock.observe.trouble import Trouble
from penstock.store.contract import Listener, Store
from penstock.store.params import HeartbeatWorker, ReadSignals, RegisterWorker, Signals
from penstock.worker import child
from penstock.worker.crew import Crew, start_of
from penstock.worker.executor import STOP_SECONDS
from penstock.worker.finisher import Finisher
from penstock.worker.frames import Start
from penstock.worker.health import Pulse
from penstock.worker.heartbeat import Heartbeat
from penstock.worker.identity import own_identity
from penstock.worker.leaks import cancel_leaked_tasks, marked
from penstock.worker.line import check_limited_types, lines_of, served_types
from penstock.worker.memory import watch_memory
from penstock.worker.neighbours import Neighbours
from penstock.worker.outage import FATAL, Patience
from penstock.worker.predecessor import register
from penstock.worker.reporter import Reporter
from penstock.worker.run import Stop
from penstock.worker.serving import ServedHealth
from penstock.worker.settings import Lifespan, WorkerSettings
from penstock.worker.spreading import Spreading
from penstock.worker.watchdog import Watchdog

SIGNAL_SECONDS = 0.1
IDLE_SIGNAL_SECONDS = 0.5
LISTEN_SECONDS = 1.0
FLUSH_SECONDS = 10.0

log = logging.getLogger("penstock.worker")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker runs in threads beside its event loop, and how each is made: a simulation has no threads."""

    heartbeat: Callable[[Store, Clock, float, Callable[[int], None]], Heartbeat] = Heartbeat
    watchdog: Callable[[Registry], Watchdog] = Watchdog


IN_THREADS = Parts()


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
        place: Callable[[], tuple[str, str]],
        parts: Parts = IN_THREADS,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        if child.loading:
            raise ConfigError(
                "importing the module of this app starts a worker, and so it would in every child process: "
                'start it under if __name__ == "__main__":, or in a module of its own'
            )
        self._store = store
        self._registry = registry
        self._client = client
        self._settings = settings
        self._clock = clock
        self._lifespan = lifespan
        self._parts = parts
        self._prepare = prepare
        self._types = served_types(registry, settings)
        check_limited_types(registry, settings)
        self.lines = lines_of(registry, settings, self._types)
        self._place = place
        processes = [name for line in self.lines if line.processes for name in line.types]
        self.child_refusal: str | None = None
        """Why handlers in child processes must not use the app's own store, if they must not."""
        self.child_start = self._start_of(processes) if processes else None
        self._stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._error: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._session = 0
        self._registering = False
        self._health_url: str | None = None
        self._starting: asyncio.Task[Any] | None = None
        self._crew: Crew | None = None
        self._watchdog: Watchdog | None = None
        self._recycled = False
        self._told_to_drain = False
        self._slots = settings.concurrency
        self._trouble = Trouble(log)
        self._signals = self._trouble.part(passing=True)

    def _start_of(self, types: list[str]) -> Start:
        others = [name for name in self._types if name not in types]
        start = start_of(self._registry, self._settings, types, others, self._place, sys.path)
        start.refusal = self.child_refusal
        return start

    # Stopping, from outside

    def stop(self) -> None:
        """The first call stops in order: no more claims, running jobs may finish. The second stops at once, safely."""
        if self._asked.is_set():
            if not self._hurry.is_set():
                log.warning("stopping at once; running jobs are released")
            self._hurry.set()
            if self._starting is not None:
                self._starting.cancel()
        else:
            log.info(
                "stopping: finishing what runs (at most %s)",
                format_duration(self._settings.shutdown_timeout),
                extra=fields("worker.stopping", worker_id=self._settings.worker_id),
            )
            self._asked.set()
            self._take_no_more()
            self._recycled = False

    def _take_no_more(self) -> None:
        """From this very moment no job begins here, whatever is claimed ahead or on its way."""
        self._stopping.set()
        if self._crew is not None:
            self._crew.begin_no_more()

    def _fail(self, error: BaseException) -> None:
        """Something that no waiting will mend: stop, and let run() raise it."""
        self._error = self._error or error
        self._take_no_more()
        self._hurry.set()

    def _recycle(self, why: str) -> None:
        """This process has done enough: stop in order, and let run() answer that another should take its place."""
        if not self._stopping.is_set():
            log.info("to be replaced: %s; finishing what runs", why,
                     extra=fields("worker.recycling", worker_id=self._settings.worker_id, reason=why))  # fmt: skip
            self._recycled = True
            self._take_no_more()

    def _drain_when_told(self) -> None:
        """An operator's order through the store: stop in order, with as much time as what runs needs."""
        if not self._stopping.is_set():
            log.info("told to drain: finishing what runs, then stopping",
                     extra=fields("worker.draining", worker_id=self._settings.worker_id))  # fmt: skip
            self._told_to_drain = True
            self._take_no_more()

    def _resize(self, slots: int, crew: Crew) -> None:
        log.info("resized from %d to %d slots", self._slots, slots,
                 extra=fields("worker.resized", worker_id=self._settings.worker_id, slots=slots))  # fmt: skip
        self._slots = slots
        settings = self._settings
        resized = replace(settings, concurrency=slots, process_slots=min(slots, settings.process_slots))
        crew.resize(lines_of(self._registry, resized, self._types))

    # Running

    async def run(self, started: Callable[[], None] | None = None) -> bool:
        """Run to the end. True when the worker ended because it should be replaced (max_jobs, max_memory).

        `started` is called when the store has taken it, under its name.
        """
        loop = asyncio.get_running_loop()
        self._starting = asyncio.current_task()
        listener = self._store.listen(self._settings.poll_interval)

        def lost(session: int) -> None:
            loop.call_soon_threadsafe(self._register_again, session)

        heartbeat = self._parts.heartbeat(self._store, self._clock, self._settings.heartbeat_interval, lost)
        heartbeat.telling = self._trouble.part(passing=True)
        watchdog = self._watchdog = self._parts.watchdog(self._registry)
        health: ServedHealth | None = None
        try:
            health = ServedHealth(self._settings, self._store, self._clock, self._pulse(watchdog, heartbeat))
            self._health_url = health.url
            await self._register(listener, heartbeat)
            heartbeat.start(self._session)
            if self._prepare is not None:
                await self._prepare()
            if started is not None:
                started()
            log.info(
                "worker %s started: %d slots on %s",
                self._settings.worker_id,
                self._settings.concurrency,
                self._store.address,
                extra=fields("worker.started", worker_id=self._settings.worker_id, slots=self._settings.concurrency),
            )
            async with self._lifespan() as resources:
                crew = marked(self, self._make_crew, resources)
                try:
                    await crew.open()
                    self._starting = None
                    await self._work(crew, listener, heartbeat)
                finally:
                    await crew.close()
        except asyncio.CancelledError:
            if self._starting is None or not self._hurry.is_set():
                raise
            self._starting.uncancel()
            log.warning("stopped before the start was complete")
        finally:
            heartbeat.stop()
            watchdog.close()
            listener.close()
            if health is not None:
                health.close()
            await self._retire()
        if self._error is not None:
            raise self._error
        return self._recycled

    def _pulse(self, watchdog: Watchdog, heartbeat: Heartbeat) -> Pulse:
        return Pulse(
            worker_id=self._settings.worker_id,
            loop_age=lambda: watchdog.age(),
            registered=lambda: self._session != 0 and not self._registering,
            stopping=self._stopping.is_set,
            store_trouble=lambda: heartbeat.trouble(),
            jam=lambda: None if self._crew is None else self._crew.jam,
        )

    def _make_crew(self, resources: Any) -> Crew:
        settings = self._settings
        self._neighbours = Neighbours(self._store, lambda: self._session)
        self._neighbours.telling = self._trouble.part(passing=True)
        crew = Crew(
            self._store,
            self._registry,
            self._client,
            settings,
            self.lines,
            lambda: self.child_start or self._start_of([]),
            resources,
            session=lambda: self._session,
            neighbours=self._neighbours,
            spreading=Spreading(lambda: self._neighbours.around, lambda: self._session),
            failed=self._fail,
            enough=lambda: self._recycle(f"it has begun {settings.max_jobs} jobs"),
            trouble=self._trouble,
            jammed=lambda why: self._recycle(why) if settings.burst else None,
        )
        for claimer in crew.claimers:
            claimer.register_again = self._register_again
        return crew

    def _make_coordinator(self, heartbeat: Heartbeat) -> Coordinator:
        settings = self._settings.coordinator
        leader = Leader(self._store, lambda: self._session, self._settings.worker_id, settings.lease)
        leader.telling = self._trouble.part(passing=True)
        duties = [duty(self._store, settings) for duty in DUTIES]
        return Coordinator(leader, duties, heartbeat.trusted, self._trouble)

    async def _work(self, crew: Crew, listener: Listener, heartbeat: Heartbeat) -> None:
        settings = self._settings
        self._crew, self._heartbeat, self._listener = crew, heartbeat, listener
        if self._stopping.is_set():
            crew.begin_no_more()
        self._coordinator = self._make_coordinator(heartbeat)
        reporter = Reporter(self._store, crew)
        assert self._watchdog is not None
        self._watchdog.meanwhile = reporter.mark_started_meanwhile
        finishing = self._guard(crew.finisher.run())
        claiming = self._guard(self._claim(crew))
        self._tasks = [
            finishing,
            self._guard(reporter.run()),
            self._guard(self._listen(listener, crew)),
            *([self._guard(self._coordinator.run())] if settings.coordinates else []),
            self._guard(self._neighbours.run()),
            self._guard(watch_memory(settings.max_memory, self._recycle)),
        ]
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({claiming, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._hurry.set()
            raise
        finally:
            stopping.cancel()
            await asyncio.shield(self._drain(claiming, crew, heartbeat))

    async def _claim(self, crew: Crew) -> None:
        if not self._settings.burst:
            await crew.claim()
            return
        # It will not be here when the leader's duties have their turn.
        if self._settings.coordinates:
            await self._coordinator.begin()
        await crew.claim()
        taken = -1
        while self._coordinator.leads and taken != crew.taken:
            taken = crew.taken
            await self._coordinator.settle()
            await crew.claim()
        await self._coordinator.finish()

    def _guard(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A part of the worker that must not end by an error unnoticed."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                if not isinstance(error, PenstockError):
                    log_error(log, logging.ERROR, error, "a part of the worker failed")
                self._fail(error)

        return asyncio.get_running_loop().create_task(guarded())

    async def _listen(self, listener: Listener, crew: Crew) -> None:
        """Hints for the claimers, word of attempts that were cancelled or lost, and orders to this worker."""
        loop = asyncio.get_running_loop()
        looked, news = 0.0, False
        while True:
            if await listener.wait(SIGNAL_SECONDS if news else LISTEN_SECONDS):
                news = True
                crew.hint(listener.turn)
            if news and loop.time() - looked >= (SIGNAL_SECONDS if crew.active else IDLE_SIGNAL_SECONDS):
                looked, news = loop.time(), False
                await self._heed_signals(crew)

    async def _heed_signals(self, crew: Crew) -> None:
        session = self._session
        try:
            signals = await self._store.read_signals(ReadSignals(session, crew.tokens()))
        except StoreError as error:
            self._signals.failed("could not read cancellations", error)
            return
        self._signals.worked()
        for token in signals.cancelled:
            crew.stop(token, Stop.CANCELLED)
        for token in signals.lost:
            crew.stop(token, Stop.LOST)
        if session == self._session:
            self._heed_orders(signals, crew)

    def _heed_orders(self, signals: Signals, crew: Crew) -> None:
        if signals.status == "draining":
            self._drain_when_told()
        if signals.slots is not None and signals.slots != self._slots:
            self._resize(signals.slots, crew)

    # Registration

    async def _register(self, listener: Listener, heartbeat: Heartbeat) -> None:
        settings = self._settings
        self._session = await register(
            self._store,
            RegisterWorker(
                worker_id=settings.worker_id,
                host=socket.gethostname(),
                pid=os.getpid(),
                version=version("penstock"),
                slots=self._slots,
                stale_after=settings.stale_after,
                types=self._types,
                queues=settings.queues,
                capabilities=settings.capabilities,
                resources=settings.resources,
                declared={declaration.name: declaration.options for declaration in self._registry},
                bell=listener.bell,
                health=self._health_url,
                limits=settings.limits,
                process=own_identity(),
            ),
        )
        heartbeat.session = self._session

    def _register_again(self, session: int) -> None:
        """The store declared this worker lost (it was silent for too long): its jobs are gone; begin anew."""
        if self._stopping.is_set() or self._registering or session != self._session or self._crew is None:
            return  # Heartbeat and claimer may both notice; one new registration is enough.
        log.warning(
            "this worker was declared lost, or a backup was restored: others recover its jobs; registering again",
            extra=fields("worker.lost", worker_id=self._settings.worker_id),
        )
        self._registering = True
        self._crew.lose_all()
        self._tasks.append(self._guard(self._keep_registering()))

    async def _keep_registering(self) -> None:
        patience = Patience(self._trouble.part())
        while self._registering:
            try:
                await self._register(self._listener, self._heartbeat)
                self._registering = False
                patience.over()
            except StoreError as error:
                if isinstance(error, FATAL):
                    raise
                await patience.wait("could not register again", error)

    async def _retire(self) -> None:
        if self._session and self._error is None:
            try:
                await self._store.heartbeat_worker(HeartbeatWorker(self._session, "inactive"))
            except StoreError as error:
                log.error("could not sign off: %s", told(error))

    # Draining

    async def _drain(self, claiming: asyncio.Task[None], crew: Crew, heartbeat: Heartbeat) -> None:
        self._take_no_more()
        heartbeat.status = "draining"
        claiming.cancel()
        await asyncio.wait({claiming})
        crew.release_buffers()
        if self._recycled or self._told_to_drain:  # There is no hurry, unless somebody asks for the end now.
            await self._until_idle(crew, None, self._asked)
        await self._until_idle(crew, self._settings.shutdown_timeout)
        if crew.active:
            log.warning("releasing %d jobs that did not finish in time", crew.active)
            crew.stop_all(Stop.RELEASED)
            self._hurry.clear()
            await self._until_idle(crew, STOP_SECONDS + 1)
            crew.give_up_all()
        await self._flush(crew.finisher)
        await crew.hooks.finish()
        await self._coordinator.resign()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await crew.close()
        await cancel_leaked_tasks(self)
        worker_id = self._settings.worker_id
        log.info("worker %s stopped", worker_id, extra=fields("worker.stopped", worker_id=worker_id))

    async def _until_idle(self, crew: Crew, timeout: float | None, *events: asyncio.Event) -> None:
        """Wait until nothing runs, for so long at most; or until there is a hurry or one of these events."""
        waits = [crew.idle(), *(event.wait() for event in (self._hurry, *events))]
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()

    async def _flush(self, finisher: Finisher) -> None:
        if self._error is not None:
            return
        try:
            await asyncio.wait_for(finisher.flush(), FLUSH_SECONDS)
        except TimeoutError:
            log.error("%d outcomes could not be stored before stopping; those jobs will run again", finisher.unstored)
