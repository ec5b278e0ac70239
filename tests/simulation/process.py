"""Simulated processes: each has a loop, a clock, an open file and a line of its own, and can be killed and paused."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

from penstock import Context
from penstock.client.client import Client
from penstock.domain.errors import ConfigError, StoreError, WorkerRefused
from penstock.domain.options import DEFAULT_CAPABILITY
from penstock.observe.events import Events, Observer
from penstock.observe.observed import observed
from penstock.store.contract import Happened, SqlStore, Transaction
from penstock.store.sqlite.store import SqliteStore
from penstock.worker.served import ServedApp
from penstock.worker.settings import make_settings
from penstock.worker.worker import Worker
from tests.checker.events import Event
from tests.checker.recording import MemoryLog, RecordingStore
from tests.simulation.clock import TrueClock, WrongClock
from tests.simulation.faulty import FaultyStore
from tests.simulation.features import AGEING_SECONDS, Theme
from tests.simulation.jobs import HAS, program
from tests.simulation.line import Line
from tests.simulation.loop import Time, VirtualLoop
from tests.simulation.names import SPECIAL
from tests.simulation.parts import on_the_loop
from tests.simulation.weather import HEARTBEAT_SECONDS, Weather

SLOTS = 4
SLOTS_AGED = 2
"""Where jobs are to wait for long."""
POLL_SECONDS = 0.25
CLOCK_OFF_SECONDS_MAX = 3600.0


class HookCalled(NamedTuple):
    """A handler was told what had become of its job."""

    hook: str
    job: str
    token: int


class Heard(Observer):
    """What observers in the processes of a seed were told of jobs, all together."""

    every_success = True

    def __init__(self) -> None:
        self.jobs: list[Happened] = []

    def happened(self, jobs: Sequence[Happened]) -> None:
        self.jobs += jobs


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """What all processes of a seed share. The weather is that for the next one that starts."""

    seed: int
    path: Path
    time: Time
    clock: TrueClock
    outside: VirtualLoop
    weather: Weather
    theme: Theme
    events: list[Event]
    hooks: list[HookCalled]
    heard: Heard
    ended: Callable[[Process], None]
    """Told when a process was killed, or its main function has returned or raised."""


class Process:
    """One process, from its start to its end. Its code runs on its own loop, and never after its end."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self.around = around
        self.random = Random(f"{around.seed} {name}")
        self.loop = VirtualLoop(around.time, name)
        self.clock = WrongClock(around.clock, self.loop, self._clock_off())
        self.line = Line(around.weather, self.random, self.loop, around.outside, self.kill)
        self.file = SqliteStore(
            str(around.path),
            synchronous="normal",
            clock=around.clock,
            random=Random(f"{around.seed} file {name}").random,
        )
        self.log = _EndingLog(around.events, name, around.clock.stamp)
        self.store = RecordingStore(cast(SqlStore, FaultyStore(self.file, self.line)), self.log)
        self.client = Client(lambda: self.store, program.registry, self.clock)
        self._wall_stopped_at: float | None = None
        self._in_use: Counter[str] = Counter()
        self.overused: list[str] = []
        """What was more in use here than there is, or cannot be."""
        self.over = False
        self.error: BaseException | None = None
        self._main: asyncio.Task[Any] | None = None

    def _clock_off(self) -> float:
        right = self.around.weather.step_seconds is None or self.random.random() < 0.5
        return 0.0 if right else self.random.uniform(-CLOCK_OFF_SECONDS_MAX, CLOCK_OFF_SECONDS_MAX)

    async def main(self) -> None:
        """What the process does."""
        raise NotImplementedError

    # What the world does to it

    def start(self) -> None:
        self._main = self.loop.create_task(self.main(), context=contextvars.Context())  # Nothing of who starts it.
        self._main.add_done_callback(self._returned)

    def _returned(self, main: asyncio.Task[Any]) -> None:
        error = main.exception() if not main.cancelled() else asyncio.CancelledError()
        if not self.over:
            self.error = error
            self._end()

    def kill(self) -> None:
        """kill -9: nothing of it runs any more."""
        if not self.over:
            self.log.killed(self.name)
            self.loop.frozen = True
            self._end()

    def pause(self) -> None:
        """SIGSTOP."""
        if not self.over and not self.loop.frozen:
            self.loop.frozen = True
            self.log.paused(self.name)

    def sleep(self, wall_stops: bool) -> None:
        """Its machine is suspended: its monotonic clock stands still, and in some the wall clock does too."""
        if not self.over and not self.loop.frozen:
            self.loop.fall_asleep()
            self._wall_stopped_at = self.around.time.now if wall_stops else None
            self.log.paused(self.name)

    def resume(self) -> None:
        """SIGCONT, or the machine wakes up. What became due meanwhile is done now."""
        if not self.over and self.loop.frozen:
            self.loop.wake_up()
            if self._wall_stopped_at is not None:
                self.clock.step(self._wall_stopped_at - self.around.time.now)
                self._wall_stopped_at = None
            self.log.resumed(self.name)

    def _end(self) -> None:
        self.over = True
        self.log.end()
        self.around.ended(self)

    def bury(self) -> list[asyncio.Task[Any]]:
        """After the story: end what is left of its code, which can reach nothing any more. Answers what must end now.

        First its main function, which ends the rest as well as it can; then whatever is left after that.
        """
        self.line.end()
        self.log.end()
        self.loop.wake_up()
        running = self._main is not None and not self._main.done()
        left = [self._main] if self._main is not None and running else list(asyncio.all_tasks(self.loop))
        for task in left:
            task.cancel()
        return left

    def close(self) -> None:
        self.around.time.remove_loop(self.loop)
        self.file.close()

    # What its handlers do

    def begins(self, job: Context) -> None:
        self.log.run(job.id, job.token, job.attempt)

    def told(self, job: Context, hook: str) -> None:
        self.around.hooks.append(HookCalled(hook, job.id, job.token))

    def transaction(self) -> AbstractContextManager[Transaction]:
        return self.store.transaction()

    def wrong(self, what: str) -> None:
        self.overused.append(what)

    @contextmanager
    def uses(self, what: str, amount: int, most: float) -> Iterator[None]:
        self._in_use[what] += amount
        if self._in_use[what] > most:
            self.overused.append(f"{self._in_use[what]} of {what} in use, and there is {most:g}")
        try:
            yield
        finally:
            self._in_use[what] -= amount


class WorkerProcess(Process):
    """A process that runs a worker."""

    def __init__(self, name: str, worker_id: str, around: Surroundings) -> None:
        super().__init__(name, around)
        self._worker_id = worker_id
        self._worker: Worker | None = None

    async def main(self) -> None:
        settings = make_settings(
            worker_id=self._worker_id,
            concurrency=SLOTS_AGED if "aged" in self.around.theme else SLOTS,
            capabilities=(DEFAULT_CAPABILITY, SPECIAL),
            resources=HAS,
            poll_interval=POLL_SECONDS,
            heartbeat_interval=HEARTBEAT_SECONDS,
            recovery_interval=HEARTBEAT_SECONDS,
            shutdown_timeout=1.0,
            leader_lease=1.0,
            start_timeout=1.5 if "given back" in self.around.theme else 4.0,
            start_check_interval=0.5 if "given back" in self.around.theme else 1.0,
            ageing=AGEING_SECONDS if "aged" in self.around.theme else None,
            health="off",  # No sockets, no threads.
        )
        events = Events(self.around.heard)
        app = ServedApp(store=observed(self.store, events), registry=program.registry, client=self.client,
                        lifespan=self._lifespan, place=_no_children, events=events)  # fmt: skip
        self._worker = Worker(app, settings, self.clock, on_the_loop())
        await self._worker.run()

    @asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[Process]:
        yield self

    def stop(self) -> None:
        """SIGTERM; the second time at once."""
        if self._worker is not None and not self.over:
            self.loop.call_soon(self._worker.stop)


def _no_children() -> tuple[str, str]:
    raise ConfigError("a simulated process has no child processes; nothing to do about it")


class _EndingLog(MemoryLog):
    """The log of a process that may be killed: nothing is written down of what its leftovers do."""

    def end(self) -> None:
        self._keep = lambda event: None


def is_expected(error: BaseException | None) -> bool:
    """Whether a process may end so: the store was out of reach when it started, or refused its worker."""
    return error is None or isinstance(error, StoreError | WorkerRefused)
