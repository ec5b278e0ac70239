"""A worker from start to end: register, supply, run, finish; drain and release on a signal."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from penstock.domain.clock import Clock
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, StoreError
from penstock.domain.registry import Registry
from penstock.observe.metrics.of_worker import Now
from penstock.store.contract import ReadSignals, RegisterWorker, Signals
from penstock.worker.claiming.other_workers import OtherWorkers
from penstock.worker.executing.stopping import STOP_SECONDS
from penstock.worker.executors import Executors, Ties
from penstock.worker.finishing.finisher import Finisher
from penstock.worker.finishing.reporter import Reporter
from penstock.worker.liveness.health import Pulse
from penstock.worker.liveness.health_endpoint import HealthEndpoint
from penstock.worker.liveness.heartbeat import HeartbeatThread
from penstock.worker.liveness.own_metrics import OwnMetrics
from penstock.worker.liveness.watchdog import Watchdog
from penstock.worker.member import MakeHeartbeat, Member
from penstock.worker.processes import child_main
from penstock.worker.processes.frames import Start
from penstock.worker.processes.memory import watch_memory
from penstock.worker.processes.starting import start_of
from penstock.worker.running.leaks import cancel_leaked_tasks, marked
from penstock.worker.running.run import StopReason
from penstock.worker.served import ServedApp
from penstock.worker.settings import WorkerSettings
from penstock.worker.slots import check_limited_types, served_types, slot_groups, slots_of

SIGNAL_SECONDS = 0.1
IDLE_SIGNAL_SECONDS = 0.5
LISTEN_SECONDS = 1.0
WORDS_SECONDS = 0.01
"""A child that has ended its attempt itself has said so before, which may not have been read yet."""
FLUSH_SECONDS = 10.0

log = logging.getLogger("penstock.worker")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker runs in threads beside its event loop, and how each is made: a simulation has no threads."""

    heartbeat: MakeHeartbeat = HeartbeatThread
    watchdog: Callable[[Registry], Watchdog] = Watchdog


IN_THREADS = Parts()


class Worker(Member):
    """One worker. `run()` returns when it was stopped, or, in burst mode, when nothing is left."""

    kind = "worker"

    def __init__(
        self,
        app: ServedApp,
        settings: WorkerSettings,
        clock: Clock,
        parts: Parts = IN_THREADS,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        if child_main.loading:
            raise ConfigError(
                "importing the module of this app starts a worker, and so it would in every child process: "
                'start it under if __name__ == "__main__":, or in a module of its own'
            )
        super().__init__(app.store, settings, clock)
        self._app = app
        self._registry = registry = app.registry
        self._parts = parts
        self._prepare = prepare
        self._types = served_types(registry, settings)
        check_limited_types(registry, settings)
        self.groups = slot_groups(registry, settings, self._types)
        processes = [name for group in self.groups if group.processes for name in group.types]
        self.child_refusal: str | None = None
        """Why handlers in child processes must not use the app's own store, if they must not."""
        self.child_start = self._start_of(processes) if processes else None
        self._asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._health_url: str | None = None
        self._starting: asyncio.Task[Any] | None = None
        self._executors: Executors | None = None
        self._watchdog: Watchdog | None = None
        self._recycled = False
        self._told_to_drain = False
        self._slots = settings.concurrency
        self._signals = self._trouble.part(passing=True)

    def _start_of(self, types: list[str]) -> Start:
        others = [name for name in self._types if name not in types]
        start = start_of(self._app, self._settings, types, others)
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
            longest = format_duration(self._settings.shutdown_timeout)
            self._log("worker.stopping", "stopping: finishing what runs (at most %s)", longest)
            self._asked.set()
            self._take_no_more()
            self._recycled = False

    def _take_no_more(self) -> None:
        """From this very moment no job begins here, whatever is claimed ahead or on its way."""
        self._stopping.set()
        if self._executors is not None:
            self._executors.begin_no_more()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._take_no_more()
        self._hurry.set()

    def _recycle(self, why: str) -> None:
        """This process has done enough: stop in order, and let run() answer that another should take its place."""
        if not self._stopping.is_set():
            self._log("worker.recycling", "to be replaced: %s; finishing what runs", why, reason=why)
            self._recycled = True
            self._take_no_more()

    def _drain_when_told(self) -> None:
        """An operator's order through the store: stop in order, with as much time as what runs needs."""
        if not self._stopping.is_set():
            self._log("worker.draining", "told to drain: finishing what runs, then stopping")
            self._told_to_drain = True
            self._take_no_more()

    def _resize(self, slots: int, executors: Executors) -> None:
        self._log("worker.resized", "resized from %d to %d slots", self._slots, slots, slots=slots)
        self._slots = slots
        settings = self._settings
        resized = replace(settings, concurrency=slots, process_slots=min(slots, settings.process_slots))
        executors.resize(slot_groups(self._registry, resized, self._types))

    # Running

    async def run(self, started: Callable[[], None] | None = None) -> bool:
        """Run to the end. True when the worker ended because it should be replaced (max_jobs, max_memory).

        `started` is called when the store has taken it, under its name.
        """
        self._starting = asyncio.current_task()
        with self._counting(self._app.events) as metrics:
            await self._run(started, metrics)
        if self._error is not None:
            raise self._error
        return self._recycled

    async def _run(self, started: Callable[[], None] | None, metrics: OwnMetrics) -> None:
        listener = self._listener = self._store.listen(self._settings.poll_interval)
        heartbeat = self._make_heartbeat(self._parts.heartbeat)
        watchdog = self._watchdog = self._parts.watchdog(self._registry)
        health: HealthEndpoint | None = None
        try:
            pulse = self._pulse(watchdog, heartbeat)
            health = HealthEndpoint(self._settings, self._store, self._clock, pulse, metrics.answer)
            self._health_url = health.url
            await self._register()
            heartbeat.start(self._session)
            if self._prepare is not None:
                await self._prepare()
            if started is not None:
                started()
            slots = self._settings.concurrency
            self._log("worker.started", "worker %s started: %d slots on %s", self._settings.worker_id, slots,
                       self._store.address, slots=slots)  # fmt: skip
            async with self._app.lifespan() as resources:
                executors = marked(self, self._make_executors, resources)
                try:
                    await executors.open()
                    self._starting = None
                    await self._work(executors)
                finally:
                    await executors.close()
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

    def _now(self) -> Now:
        executors = self._executors
        if executors is None:
            return Now(leads=self._leads(), types=self._types, active={})
        active = Counter(run.claim.type for run in executors.runs())
        return Now(leads=self._leads(), slots=executors.slots, busy=executors.busy, types=self._types, active=active)

    def _pulse(self, watchdog: Watchdog, heartbeat: HeartbeatThread) -> Pulse:
        return Pulse(
            worker_id=self._settings.worker_id,
            loop_age=lambda: watchdog.age(),
            registered=lambda: self._session != 0 and not self._registering,
            stopping=self._stopping.is_set,
            store_trouble=lambda: heartbeat.trouble(),
            jam=lambda: None if self._executors is None else self._executors.jam,
        )

    def _make_executors(self, resources: Any) -> Executors:
        self._others = OtherWorkers(self._store, lambda: self._session)
        self._others.telling = self._trouble.part(passing=True)
        ties = Ties(
            session=lambda: self._session,
            start=lambda: self.child_start or self._start_of([]),
            failed=self._fail,
            recycle=self._recycle,
            trouble=self._trouble,
        )
        executors = Executors(self._app, resources, self._settings, self.groups, self._others, ties)
        for claimer in executors.claimers:
            claimer.register_again = self._register_again
        return executors

    async def _work(self, executors: Executors) -> None:
        settings = self._settings
        self._executors = executors
        if self._stopping.is_set():
            executors.begin_no_more()
        self._coordinator = self._make_coordinator()
        reporter = Reporter(self._store, executors)
        assert self._watchdog is not None
        self._watchdog.meanwhile = reporter.mark_started_meanwhile
        finishing = self._guard(executors.finisher.run())
        claiming = self._guard(self._claim(executors))
        self._tasks = [
            finishing,
            self._guard(reporter.run()),
            self._guard(self._listen(executors)),
            *([self._guard(self._coordinator.run())] if settings.coordinates else []),
            self._guard(self._others.run()),
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
            await asyncio.shield(self._drain(claiming, executors))

    async def _claim(self, executors: Executors) -> None:
        if not self._settings.burst:
            await executors.claim()
            return
        # It will not be here when the leader's duties have their turn.
        if self._settings.coordinates:
            await self._coordinator.begin()
        await executors.claim()
        taken = -1
        while self._coordinator.leads and taken != executors.taken:
            taken = executors.taken
            await self._coordinator.settle()
            await executors.claim()
        await self._coordinator.finish()

    async def _listen(self, executors: Executors) -> None:
        """Hints for the claimers, word of attempts that were cancelled or lost, and orders to this worker."""
        loop, listener = asyncio.get_running_loop(), self._listener
        looked, news = 0.0, False
        while True:
            if await listener.wait(SIGNAL_SECONDS if news else LISTEN_SECONDS):
                news = True
                executors.hint(listener.turn)
            if news and loop.time() - looked >= (SIGNAL_SECONDS if executors.active else IDLE_SIGNAL_SECONDS):
                looked, news = loop.time(), False
                await self._heed_signals(executors)

    async def _heed_signals(self, executors: Executors) -> None:
        session = self._session
        try:
            signals = await self._store.read_signals(ReadSignals(session, executors.tokens()))
        except StoreError as error:
            self._signals.failed("could not read cancellations", error)
            return
        self._signals.worked()
        if signals.lost:
            await asyncio.sleep(WORDS_SECONDS)
        for token in signals.cancelled:
            executors.stop(token, StopReason.CANCELLED)
        for token in signals.lost:
            executors.stop(token, StopReason.LOST)
        if session == self._session:
            self._heed_orders(signals, executors)

    def _heed_orders(self, signals: Signals, executors: Executors) -> None:
        if signals.status == "draining":
            self._drain_when_told()
        if signals.slots is not None and signals.slots != self._slots:
            self._resize(signals.slots, executors)

    # Registration

    def _newcomer(self) -> RegisterWorker:
        settings = self._settings
        return msgspec.structs.replace(
            super()._newcomer(),
            slots=self._slots,
            slots_of=slots_of(self.groups, self._registry, self._settings),
            types=self._types,
            queues=settings.queues,
            capabilities=settings.capabilities,
            resources=settings.resources,
            declared={declaration.name: declaration.options for declaration in self._registry},
            bell=self._listener.bell,
            health=self._health_url,
            limits=settings.limits,
        )

    def _register_again(self, session: int) -> None:
        if self._executors is not None:
            super()._register_again(session)

    def _lose_all(self) -> None:
        self._log("worker.lost", "this worker was declared lost, or a backup was restored: others recover its jobs; "
                  "registering again", level=logging.WARNING)  # fmt: skip
        if self._executors is not None:
            self._executors.lose_all()

    # Draining

    async def _drain(self, claiming: asyncio.Task[None], executors: Executors) -> None:
        self._take_no_more()
        self._heartbeat.status = "draining"
        claiming.cancel()
        await asyncio.wait({claiming})
        executors.release_buffers()
        if self._recycled or self._told_to_drain:  # There is no hurry, unless somebody asks for the end now.
            await self._until_idle(executors, None, self._asked)
        await self._until_idle(executors, self._settings.shutdown_timeout)
        if executors.active:
            log.warning("releasing %d jobs that did not finish in time", executors.active)
            executors.stop_all(StopReason.RELEASED)
            self._hurry.clear()
            await self._until_idle(executors, STOP_SECONDS + 1)
            executors.give_up_all()
        await self._flush(executors.finisher)
        await executors.hooks.finish()
        await self._coordinator.resign()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await executors.close()
        await cancel_leaked_tasks(self)
        self._log("worker.stopped", "worker %s stopped", self._settings.worker_id)

    async def _until_idle(self, executors: Executors, timeout: float | None, *events: asyncio.Event) -> None:
        """Wait until nothing runs, for so long at most; or until there is a hurry or one of these events."""
        waits = [executors.idle(), *(event.wait() for event in (self._hurry, *events))]
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
