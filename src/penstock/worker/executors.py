"""The slot groups of a worker: an executor and a claimer for each, and the child processes that they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.observe.events import Ended, EndedBatch, Quiet
from penstock.observe.trouble import Trouble
from penstock.observe.words import counted
from penstock.store.contract import Claim, Finished
from penstock.worker.claiming.balancing import Balancing
from penstock.worker.claiming.budget import Budget, limits_of
from penstock.worker.claiming.claimer import Claimer, ClaimLoops
from penstock.worker.claiming.max_jobs import MaxJobs
from penstock.worker.claiming.other_workers import OtherWorkers
from penstock.worker.executing.executor import Executor
from penstock.worker.executing.shared import Shared
from penstock.worker.finishing.finisher import Finisher
from penstock.worker.finishing.outcomes import Outcomes
from penstock.worker.processes.frames import Start
from penstock.worker.processes.pool import Processes
from penstock.worker.running.hooks import HookCalls
from penstock.worker.running.isolation import Isolation
from penstock.worker.running.run import Run, StopReason, TypePlans
from penstock.worker.served import ServedApp
from penstock.worker.settings import WorkerSettings
from penstock.worker.slots import SlotGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties:
    """What the slot groups ask their worker, and what they tell it."""

    session: Callable[[], int]
    start: Callable[[], Start]
    """What child processes must know."""
    failed: Callable[[BaseException], None]
    recycle: Callable[[str], None]
    """Told why another process should take the place of this one."""
    trouble: Trouble


class Executors:
    """All that claims and runs in one worker."""

    def __init__(self, app: ServedApp, resources: Any, settings: WorkerSettings, groups: list[SlotGroup],
                 others: OtherWorkers, ties: Ties) -> None:  # fmt: skip
        store, limits = app.store, limits_of(app.registry, [name for group in groups for name in group.types])
        self.trouble = ties.trouble

        def tell(ended: Sequence[Ended], answer: Finished, quiet: Quiet | None) -> None:
            app.events.ended(EndedBatch(settings.worker_id, ended, answer, quiet))

        self.finisher = Finisher(store, settings.history, ties.failed, ties.session, tell, ties.trouble)
        self.hooks = HookCalls(asyncio.get_running_loop())
        self.outcomes = Outcomes(self.finisher, app.client, settings, self.hooks, others, app.events)
        self._processes = Processes(settings.process_slots, ties.start, any(group.processes for group in groups))
        shared = Shared(
            store=store,
            plans=TypePlans(app.registry, store, resources, self.outcomes.finish_in),
            outcomes=self.outcomes,
            hooks=self.hooks,
            isolation=Isolation(self._processes, settings.burst, settings.start_timeout / 2),
            max_jobs=MaxJobs(
                settings.max_jobs, lambda: ties.recycle(f"it has begun {counted(settings.max_jobs or 0, 'job')}")
            ),
            freed=self._freed if settings.resources is not None or limits else lambda claim: None,
            failed=ties.failed,
            jammed=lambda why: ties.recycle(why) if settings.burst else None,
        )
        self._executors = [Executor(group, shared) for group in groups]
        self._budget = Budget(settings.resources, limits, self._executors)
        self._loops = ClaimLoops(self._executors, self._budget, self.finisher, ties.trouble)
        balancing = Balancing(lambda: others.around, ties.session)
        self.claimers = [
            Claimer(store, executor, settings, ties.session, self._loops, balancing) for executor in self._executors
        ]

    async def open(self) -> None:
        """Start the child processes of process handlers, if there are any."""
        await self._processes.open()

    async def claim(self) -> None:
        """Claim until cancelled; in burst mode, until no group finds anything and nothing runs."""
        self._loops.begin()
        tasks = [asyncio.ensure_future(claimer.run()) for claimer in self.claimers]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for error in [task.exception() for task in tasks if not task.cancelled()]:
            if error is not None:
                raise error

    def hint(self, turn: int | None = None) -> None:
        """There may be something new to claim. The number says whose turn it is to take it first."""
        for claimer in self.claimers:
            claimer.turn = turn
            claimer.hint.set()

    def resize(self, groups: list[SlotGroup]) -> None:
        """The same groups with other slots."""
        for claimer, executor, group in zip(self.claimers, self._executors, groups, strict=True):
            claimer.forget_pace()
            executor.resize(group)

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
        """Why one of the groups takes no more jobs, if so."""
        return next((jam for executor in self._executors if (jam := executor.slots.jam) is not None), None)

    @property
    def taken(self) -> int:
        """How many jobs were claimed so far."""
        return self._loops.taken

    @property
    def active(self) -> int:
        return sum(len(executor.active) for executor in self._executors)

    @property
    def slots(self) -> int:
        return sum(executor.slots.group.slots for executor in self._executors)

    @property
    def busy(self) -> float:
        """The share of the slots that are taken, of the kind of work that has the largest."""
        return max((len(one.active) / max(1, one.slots.group.slots) for one in self._executors), default=0.0)

    def stop(self, token: int, why: StopReason) -> None:
        for executor in self._executors:
            run = executor.active.get(token)
            if run is None and why is StopReason.LOST:
                executor.unbegun.drop(token)
            elif run is None and why is StopReason.CANCELLED:
                executor.unbegun.cancel(token)
            if run is None or (why is StopReason.LOST and run.finished_in is not None):
                continue  # Its own transaction may have ended it, and its handler may go on.
            executor.stopping.stop(run, why)

    def stop_all(self, why: StopReason) -> None:
        for executor in self._executors:
            executor.stopping.stop_all(why)

    def lose_all(self) -> None:
        for executor in self._executors:
            executor.lose_all()

    def give_up_all(self) -> None:
        for executor in self._executors:
            executor.stopping.give_up_all()

    def begin_no_more(self) -> None:
        for executor in self._executors:
            executor.begin_no_more()

    def release_buffers(self) -> None:
        for executor in self._executors:
            executor.release_buffer()

    async def idle(self) -> None:
        """Return when nothing runs."""
        await self._loops.until_idle()

    async def close(self) -> None:
        for executor in self._executors:
            executor.close()
        await self._processes.close()
