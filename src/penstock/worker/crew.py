"""The lines of a worker together: an executor and a claimer for each, and the child processes that they share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

from penstock.client import Client
from penstock.domain.registry import Registry
from penstock.observe import logs
from penstock.observe.trouble import Trouble
from penstock.store.contract import Store
from penstock.store.params import Claim
from penstock.worker.budget import Budget, limits_of
from penstock.worker.claimer import Claimer, Together
from penstock.worker.executor import Executor
from penstock.worker.finisher import Finisher
from penstock.worker.frames import OtherType, Start
from penstock.worker.hooks import HookCalls
from penstock.worker.isolation import Isolation
from penstock.worker.line import Line
from penstock.worker.neighbours import Neighbours
from penstock.worker.outcomes import Outcomes
from penstock.worker.processes import Processes
from penstock.worker.quota import Quota
from penstock.worker.run import Run, Stop
from penstock.worker.settings import WorkerSettings
from penstock.worker.spreading import Spreading


class Crew:
    """All that claims and runs in one worker."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        client: Client,
        settings: WorkerSettings,
        lines: list[Line],
        start: Callable[[], Start],
        resources: Any,
        session: Callable[[], int],
        neighbours: Neighbours,
        spreading: Spreading,
        failed: Callable[[BaseException], None],
        enough: Callable[[], None],
        jammed: Callable[[str], None],
        trouble: Trouble | None = None,
    ) -> None:
        self.trouble = trouble or Trouble(logging.getLogger("penstock.worker"))
        self.finisher = Finisher(store, settings.history, failed, self.trouble)
        self.hooks = HookCalls(asyncio.get_running_loop())
        self.outcomes = Outcomes(self.finisher, client, settings, self.hooks, neighbours)
        ahead = any(line.processes for line in lines)
        self._processes = Processes(settings.process_slots, start, ahead)
        isolation = Isolation(self._processes, settings.burst, settings.start_timeout / 2)
        quota = Quota(settings.max_jobs, enough)
        self._executors = [
            Executor(
                line,
                registry,
                self.outcomes,
                self.hooks,
                store,
                self._processes,
                isolation,
                resources,
                quota,
                failed,
                jammed,
            )
            for line in lines
        ]
        self._together = together = Together(self._executors)
        limits = limits_of(registry, [name for line in lines for name in line.types])
        self._budget = Budget(settings.resources, limits, self._executors)
        self.claimers = [
            Claimer(
                store,
                executor,
                self.finisher,
                settings,
                session,
                executor.line.types,
                together,
                self._budget,
                spreading,
                self.trouble,
            )
            for executor in self._executors
        ]
        if settings.resources is not None or limits:
            for executor in self._executors:
                executor.freed = self._freed

    async def open(self) -> None:
        """Start the child processes of process handlers, if there are any."""
        await self._processes.open()

    async def claim(self) -> None:
        """Claim until cancelled; in burst mode, until no line finds anything and nothing runs."""
        self._together.begin()
        loops = [asyncio.ensure_future(claimer.run()) for claimer in self.claimers]
        try:
            await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.wait(loops)
        for error in [loop.exception() for loop in loops if not loop.cancelled()]:
            if error is not None:
                raise error

    def hint(self, turn: int | None = None) -> None:
        """There may be something new to claim. The number says whose turn it is to take it first."""
        for claimer in self.claimers:
            claimer.turn = turn
            claimer.hint.set()

    def resize(self, lines: list[Line]) -> None:
        """The same lines with other slots."""
        for claimer, executor, line in zip(self.claimers, self._executors, lines, strict=True):
            claimer.forget_pace()
            executor.resize(line)

    def _freed(self, claim: Claim) -> None:
        """What this job held may be what another one waits for."""
        if self._budget.counts(claim):
            self.hint()

    # What runs

    def tokens(self) -> list[int]:
        """Of all that is held here, begun or not."""
        return [token for executor in self._executors for token in executor.tokens()]

    def runs(self) -> Iterator[Run]:
        for executor in self._executors:
            yield from list(executor.active.values())

    @property
    def jam(self) -> str | None:
        """Why one of the lines takes no more jobs, if so."""
        return next((jam for executor in self._executors if (jam := executor.jam) is not None), None)

    @property
    def taken(self) -> int:
        """How many jobs were claimed so far."""
        return self._together.taken

    @property
    def active(self) -> int:
        return sum(len(executor.active) for executor in self._executors)

    def stop(self, token: int, why: Stop) -> None:
        for executor in self._executors:
            run = executor.active.get(token)
            if run is None and why is Stop.LOST:
                executor.drop(token)
            elif run is None and why is Stop.CANCELLED:
                executor.cancel_suspect(token)
            if run is None or (why is Stop.LOST and run.finished_in is not None):
                continue  # Its own transaction may have ended it, and its handler may go on.
            executor.stop(run, why)

    def stop_all(self, why: Stop) -> None:
        for executor in self._executors:
            executor.stop_all(why)

    def lose_all(self) -> None:
        for executor in self._executors:
            executor.lose_all()

    def give_up_all(self) -> None:
        for executor in self._executors:
            executor.give_up_all()

    def begin_no_more(self) -> None:
        for executor in self._executors:
            executor.begin_no_more()

    def release_buffers(self) -> None:
        for executor in self._executors:
            executor.release_buffer()

    async def idle(self) -> None:
        """Return when nothing runs."""
        for executor in self._executors:
            await executor.idle.wait()

    async def close(self) -> None:
        for executor in self._executors:
            executor.close()
        await self._processes.close()


def start_of(
    registry: Registry,
    settings: WorkerSettings,
    types: list[str],
    others: list[str],
    app: Callable[[], tuple[str, str]],
    path: list[str],
) -> Start:
    """What child processes must know that run these types, and the others if they can. An app that they cannot import
    means ConfigError.
    """
    declarations = [declaration for name in types if (declaration := registry.find(name)) is not None]
    modules = sorted({declaration.function.__module__ for declaration in declarations})
    return Start(
        path=[place for place in path if isinstance(place, str)],
        app=app(),
        modules=modules,
        types=types,
        follow_ups=[len(declaration.follow_ups) for declaration in declarations],
        others=[
            OtherType(name, declaration.function.__module__, len(declaration.follow_ups))
            for name in others
            if (declaration := registry.find(name)) is not None
        ],
        max_jobs=settings.max_jobs,
        max_memory=settings.max_memory,
        log=logs.configured,
        history=settings.history,
    )
