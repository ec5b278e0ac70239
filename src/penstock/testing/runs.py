"""Runs the jobs of a sandbox with the real worker, in bursts in which time moves on by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from penstock.app import App
from penstock.domain.errors import JobFailed, PenstockError
from penstock.domain.job import FINAL, State
from penstock.domain.options import DEFAULT_CAPABILITY
from penstock.domain.registry import Declaration
from penstock.store.contract import Store
from penstock.testing.clock import FakeClock
from penstock.testing.drain import Attempt, AttemptBudget, Drain
from penstock.testing.watched import WatchedStore, in_handler

ATTEMPTS_MAX = 1000
INLINE_DEPTH_MAX = 20


class EndlessRun(PenstockError):
    """A run in a test began more attempts than its limit: jobs that enqueue or reschedule themselves for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run did: how many jobs ended how, how many attempts were tried again or snoozed, and how many jobs still
    wait.
    """

    completed: int = 0
    dead: int = 0
    cancelled: int = 0
    expired: int = 0
    retries: int = 0
    snoozes: int = 0
    waiting: int = 0


class Runs:
    """Starts one worker per run. A run inside a handler (inline mode) reports through the run around it."""

    def __init__(self, app: App, store: WatchedStore, clock: FakeClock) -> None:
        self._app = app
        self._store = store
        self._clock = clock
        self._attempts: list[Attempt] = []
        self._budget = AttemptBudget(0)
        self._depth = 0
        self._expired = 0
        """How many had expired when the last run was over."""
        self.strict_inline = True

    async def run(self, strict: bool, until_us: int | None, limit: int, concurrency: int) -> Summary:
        first, before = len(self._attempts), self._expired
        budget = self._budget = AttemptBudget(limit)
        await self._work(Drain(self._store, self._clock, self._attempts, budget, until_us), concurrency)
        if budget.spent:
            raise EndlessRun(_endless(budget, limit))
        ended, dead = await self._ends(self._attempts[first:])
        self._expired = await self._count(State.EXPIRED)
        if strict and dead:
            _raise_failed(dead)
        return Summary(
            completed=ended.count(State.COMPLETED),
            dead=ended.count(State.DEAD),
            cancelled=ended.count(State.CANCELLED),
            expired=self._expired - before,
            retries=sum(one.state is State.SCHEDULED and not one.snoozed for one in self._attempts[first:]),
            snoozes=sum(one.snoozed for one in self._attempts[first:]),
            waiting=await self._count(State.PENDING, State.SCHEDULED, State.BLOCKED),
        )

    async def _work(self, drain: Drain, concurrency: int) -> None:
        served: tuple[str, ...] = ()
        while served != (types := self._types()):
            served = types
            await self._run_worker(drain, types, concurrency)

    def _types(self) -> tuple[str, ...]:
        """What the worker serves. Child processes cost time: they are started only for jobs that there are."""
        enqueued, registry = {job.type for job in self._store.enqueued}, self._app.registry
        return tuple(name for name in registry.names() if name in enqueued or not _runs_apart(registry.find(name)))

    async def _run_worker(self, drain: Drain, types: tuple[str, ...], concurrency: int) -> None:
        settings = {
            "burst": True,
            "types": types,
            "concurrency": concurrency,
            "capabilities": self._capabilities(),
            "coordinates": False,  # Leaps of time would make live workers look lost, and ended jobs old.
            "health": "off",
        }
        worker = self._app._worker({}, settings, cast(Store, drain))
        drain.groups = len(worker.groups)
        worker.child_refusal = _REFUSAL
        if worker.child_start is not None:
            worker.child_start.refusal = _REFUSAL
        self._depth += 1
        try:
            await worker.run()
        finally:
            self._depth -= 1

    def _capabilities(self) -> tuple[str, ...]:
        declared = {declaration.options.capability for declaration in self._app.registry}
        asked = {job.options["capability"] for job in self._store.enqueued}
        return tuple(sorted({DEFAULT_CAPABILITY} | declared | asked))

    # Inline mode: it is a call, with both faces, that runs what was just enqueued

    def wait(self) -> None:
        """Plain code has enqueued: run it in this thread. A handler's thread has no event loop of its own."""
        if self._depth < INLINE_DEPTH_MAX:
            asyncio.run(self._run_inline(in_handler()))

    def __await__(self) -> Generator[Any, Any, None]:
        return self._arun_inline().__await__()

    async def _arun_inline(self) -> None:
        """Async code has enqueued: run it on its loop; inside a handler beside it, whose worker owns the loop."""
        if not in_handler():
            await self._run_inline(nested=False)
        elif self._depth < INLINE_DEPTH_MAX:
            await asyncio.to_thread(lambda: asyncio.run(self._run_inline(nested=True)))

    async def _run_inline(self, nested: bool) -> None:
        if nested:
            await self._work(Drain(self._store, self._clock, self._attempts, self._budget, None), 1)
        else:
            await self.run(self.strict_inline, None, ATTEMPTS_MAX, 1)

    # Reading what became of it

    async def _count(self, *states: State) -> int:
        counts = await self._store.count_jobs()
        return sum(count.jobs for count in counts if count.state in states)

    async def _ends(self, attempts: Iterable[Attempt]) -> tuple[list[State], list[Attempt]]:
        """The final states of the jobs behind these attempts, and the last attempts of those that are dead."""
        last = {attempt.claim.id: attempt for attempt in attempts}
        states: list[State] = []
        dead: list[Attempt] = []
        for job_id, attempt in last.items():
            job = await self._store.read_job(job_id)
            state = attempt.state if job is None else job.state
            states += [state] if state in FINAL else []
            dead += [attempt] if state is State.DEAD else []
        return states, dead


_REFUSAL = (
    "a process handler cannot use the store of a test's sandbox, which is in another process: "
    "enqueue follow-ups with ctx.enqueue(job.bind(…))"
)


def _runs_apart(declaration: Declaration | None) -> bool:
    return declaration is not None and declaration.runner == "process"


def _raise_failed(dead: list[Attempt]) -> NoReturn:
    first = dead[0]
    failed = JobFailed(_obituary(first), first.error)
    if first.error is not None and first.error.stack:
        failed.add_note(f"In the handler:\n{first.error.stack}")
    for attempt in dead[1:]:
        failed.add_note(f"Also: {_obituary(attempt)}")
    raise failed


def _obituary(attempt: Attempt) -> str:
    claim, error = attempt.claim, attempt.error
    what = f"{error.type}: {error.message}" if error is not None else "no error was stored"
    return f"job {claim.id} ({claim.type}) is dead after attempt {claim.attempt}: {attempt.reason}; {what}"


def _endless(budget: AttemptBudget, limit: int) -> str:
    often = ", ".join(f"{name} ({count})" for name, count in budget.began.most_common(3))
    return (
        f"the run began {limit} attempts and there is more to do; the most frequent jobs: {often}. If a job enqueues "
        "itself again and again, run only what is due within a time: run(within='1h'). If there really is that much "
        "work, raise the bound: run(limit=…)"
    )
