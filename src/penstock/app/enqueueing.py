"""Enqueueing and following: jobs, spreads, workflows, transactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from typing import Any, TypedDict, Unpack

from penstock.app.core import Core
from penstock.client.client import JobCall, JobHandle, as_calls, as_spread, refuse_in_loop, spreading
from penstock.client.steps import Steps, awaited, waited
from penstock.client.workflow import Workflow, WorkflowHandle, handle_of, known
from penstock.declare.jobtype import EnqueueOptions
from penstock.domain.duration import Duration
from penstock.domain.ids import check_id
from penstock.domain.schedule.spread import Mode, make_spread, start_moment
from penstock.domain.workflows import OnFailure
from penstock.store.contract import Enqueued, Transaction
from penstock.store.transactions import transactions_of


class SpreadOptions(TypedDict, total=False):
    """How a spread is staggered. Without any: each call once, evenly over 24 hours from now on."""

    period: Duration
    batches: int | None
    mode: Mode
    start: datetime | None


class Enqueueing(Core):
    """The side of programs that give work."""

    def enqueue_many(self, calls: Iterable[JobCall[Any]], *, conn: object | None = None) -> list[JobHandle[Any]]:
        """Store many jobs in one transaction, all or nothing: app.enqueue_many(job.bind(x) for x in items)."""
        refuse_in_loop("enqueue_many", "aenqueue_many")
        return self.client.enqueue(as_calls(calls), conn)

    async def aenqueue_many(self, calls: Iterable[JobCall[Any]], *, conn: object | None = None) -> list[JobHandle[Any]]:
        """The same for async code."""
        return await self.client.aenqueue(as_calls(calls), conn)

    def enqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        conn: object | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> JobHandle[Any]:
        """Store a job by the name of its type; the handler need not be importable here."""
        refuse_in_loop("enqueue", "aenqueue")
        if self.client.needs_types(name):
            self.client.remember_types(self._store.read_types().wait())
        call = self.client.call_by_name(name, payload or {}, dict(options), self.client.types)
        return self.client.enqueue([call], conn)[0]

    async def aenqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        conn: object | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> JobHandle[Any]:
        """The same for async code."""
        if self.client.needs_types(name):
            self.client.remember_types(await self._store.read_types())
        call = self.client.call_by_name(name, payload or {}, dict(options), self.client.types)
        return (await self.client.aenqueue([call], conn))[0]

    def spread(self, name: str, calls: Iterable[JobCall[Any]], **options: Unpack[SpreadOptions]) -> int:
        """Stagger many jobs over a period, beginning at `start` or now, and answer how many were enqueued.

        `mode="once"`: each call once, in so many batches, or without `batches` each at its own moment, evenly.
        `mode="each"`: every call in every batch; 6 batches in 24 hours are one every 4 hours. All or nothing, and once
        in each period: another spread of this name that begins in the same one enqueues nothing and answers 0. Periods
        are counted from 1970 in UTC, by the store's clock: one of 24 hours is a day in UTC.
        """
        refuse_in_loop("spread", "aspread")
        return waited(self._spread(name, calls, **options))

    async def aspread(self, name: str, calls: Iterable[JobCall[Any]], **options: Unpack[SpreadOptions]) -> int:
        """The same for async code."""
        return await awaited(self._spread(name, calls, **options))

    def _spread(
        self,
        name: str,
        calls: Iterable[JobCall[Any]],
        period: Duration = "24h",
        batches: int | None = None,
        mode: Mode = "once",
        start: datetime | None = None,
    ) -> Steps[int]:
        plan, begin = make_spread(name, period, batches, mode), start_moment(start)
        found = as_spread(plan, calls)
        if not found:
            return 0
        with spreading(name):
            now: int = yield self._store.read_clock()
            stored: list[Enqueued] = yield self.client.spread(plan, found, begin, now)
        return sum(job.created for job in stored)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction on the store: your statements and using(conn=tx).enqueue(…) commit together or not at all."""
        refuse_in_loop("transaction", "atransaction")
        return transactions_of(self._store).transaction()

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        """The same for async code: async with app.atransaction() as tx."""
        return transactions_of(self._store).atransaction()

    # Following

    def get(self, job_id: str) -> JobHandle[Any]:
        """The job with this id, or UnknownJob."""
        refuse_in_loop("get", "aget")
        return self.client.handle(check_id(job_id), self.client.get(job_id).wait())

    async def aget(self, job_id: str) -> JobHandle[Any]:
        return self.client.handle(check_id(job_id), await self.client.get(job_id))

    # Workflows

    def workflow(
        self, name: str, *, on_failure: OnFailure = "stop", compensate: JobCall[Any] | None = None
    ) -> Workflow:
        """A new workflow: add steps to it, then enqueue it.

        If a job does not complete, no later step begins ("stop") or those after it begin all the same ("continue"),
        unless a step says otherwise. `compensate` is a call that is enqueued once the workflow has failed.
        """
        return Workflow(self.client, name, on_failure, compensate)

    def get_workflow(self, workflow_id: str) -> WorkflowHandle:
        """The workflow with this id, or UnknownWorkflow."""
        refuse_in_loop("get_workflow", "aget_workflow")
        handle = handle_of(self.client, check_id(workflow_id))
        known(self._store.read_workflow(handle.id).wait(), handle.id)
        return handle

    async def aget_workflow(self, workflow_id: str) -> WorkflowHandle:
        handle = handle_of(self.client, check_id(workflow_id))
        known(await self._store.read_workflow(handle.id), handle.id)
        return handle
