"""What a test holds in its hands: what was enqueued, and how to run it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast, overload

from penstock.app import App
from penstock.client.client import JobHandle, refuse_in_loop
from penstock.coordinator.duties.schedules import Firing
from penstock.coordinator.settings import CoordinatorSettings
from penstock.declare.jobtype import JobType
from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import Duration, parse_duration
from penstock.store.contract import Store
from penstock.testing.clock import FakeClock
from penstock.testing.record import EnqueuedJob
from penstock.testing.runs import ATTEMPTS_MAX, Runs, Summary
from penstock.testing.search import Search, make_search, missing_text, unexpected_text, wrong_count_text
from penstock.testing.watched import WatchedStore

R = TypeVar("R")


class Sandbox:
    """What a test sees of its app. Made by sandbox(), inline() or the pytest fixture `jobs`."""

    def __init__(self, app: App, store: WatchedStore, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock
        self._store = store
        self._runs = Runs(app, store, clock)

    def __repr__(self) -> str:
        return f"<sandbox with {len(self.enqueued)} enqueued jobs, {self.clock!r}>"

    # What was enqueued

    @property
    def enqueued(self) -> list[EnqueuedJob]:
        """Every job that was enqueued in this sandbox, in order, whatever became of it."""
        return list(self._store.enqueued)

    @overload
    def assert_enqueued(
        self, what: JobType[Any, Any, Any, R], payload: Mapping[str, Any] | None = None, /, *, count: int, **fields: Any
    ) -> list[JobHandle[R]]: ...
    @overload
    def assert_enqueued(
        self, what: JobType[Any, Any, Any, R], payload: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> JobHandle[R]: ...
    @overload
    def assert_enqueued(
        self, what: str | None = None, payload: Mapping[str, Any] | None = None, /, *, count: int, **fields: Any
    ) -> list[JobHandle[Any]]: ...
    @overload
    def assert_enqueued(
        self, what: str | None = None, payload: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> JobHandle[Any]: ...

    def assert_enqueued(
        self, what: Any = None, payload: Mapping[str, Any] | None = None, /, *, count: int | None = None, **fields: Any
    ) -> Any:
        """Fail unless such a job was enqueued; answers the first, or with count=N exactly N of them.

        Fields are part of the payload, or options by the names of using(): queue, priority, delay, at, unique, …
        """
        __tracebackhide__ = True
        given = fields if count is None else {**fields, "count": count}
        search, jobs = self._search(what, payload, given), self.enqueued
        found = [job for job in jobs if not search.differences(job)]
        if count is not None and len(found) != count:
            raise AssertionError(wrong_count_text(search, count, len(found), jobs))
        if count is None and not found:
            raise AssertionError(missing_text(search, jobs))
        handles = [self._handle(job) for job in found]
        return handles[0] if count is None else handles

    def assert_not_enqueued(
        self,
        what: JobType[Any, Any, Any, Any] | str | None = None,
        payload: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> None:
        """Fail if such a job was enqueued; without arguments, if any was."""
        __tracebackhide__ = True
        search = self._search(what, payload, fields)
        found = [job for job in self.enqueued if not search.differences(job)]
        if found:
            raise AssertionError(unexpected_text(search, found))

    def _search(self, what: Any, payload: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> Search:
        known = {job.type for job in self._store.enqueued}
        return make_search(self.app.registry, known, what, payload, fields)

    def _handle(self, job: EnqueuedJob) -> JobHandle[Any]:
        declaration = self.app.registry.find(job.type)
        return JobHandle(job.id, True, self.app.client, declaration.result_type if declaration else None)

    # Running it

    def run(
        self,
        *,
        strict: bool = True,
        within: Duration | None = None,
        limit: int = ATTEMPTS_MAX,
        concurrency: int = 1,
    ) -> Summary:
        """Run everything that was enqueued, with a real worker, and with time moved on to delayed jobs and retries.

        A job that ends dead raises JobFailed at the end of the run, unless strict=False. `within` bounds how far
        time may move on: within=0 runs only what is due now. `limit` is how many attempts may begin. `concurrency`
        is how many run at the same time; one by default, so that a test sees the same order every time.
        """
        refuse_in_loop("run", "arun")
        return asyncio.run(self.arun(strict=strict, within=within, limit=limit, concurrency=concurrency))

    async def arun(
        self,
        *,
        strict: bool = True,
        within: Duration | None = None,
        limit: int = ATTEMPTS_MAX,
        concurrency: int = 1,
    ) -> Summary:
        """The same for async code."""
        until_us = None
        if within is not None:
            until_us = self.clock.now_us() + round(parse_duration(within, "within") * MICROSECONDS)
        return await self._runs.run(strict, until_us, limit, concurrency)

    def fire_schedules(self) -> int:
        """Enqueue what schedules are due by the clock, as a leader would; answers how many jobs that made.

        Schedules never fire by themselves in a sandbox: jobs.clock.advance("1d"), then jobs.fire_schedules().
        """
        refuse_in_loop("fire_schedules", "afire_schedules")
        return asyncio.run(self.afire_schedules())

    async def afire_schedules(self) -> int:
        """The same for async code."""
        before = len(self._store.enqueued)
        await Firing(cast(Store, self._store), CoordinatorSettings()).do(None)
        return len(self._store.enqueued) - before

    @contextmanager
    def inline(self, *, strict: bool = True) -> Iterator[None]:
        """In this block every enqueue runs its job to the end before it returns, retries and delays included.

        A job that ends dead raises JobFailed at the enqueue, unless strict=False or a handler enqueued it.
        """
        before = self._store.inline, self._runs.strict_inline
        self._store.inline, self._runs.strict_inline = self._runs, strict
        try:
            yield
        finally:
            self._store.inline, self._runs.strict_inline = before
