"""The process that enqueues the workflows of a seed, cancels some, and retries some that did not complete."""

from __future__ import annotations

import asyncio
from functools import partial

from penstock import UnknownJob, UsageError, WorkflowState
from penstock.store.contract import CancelJob, CancelWorkflow, EnqueueWorkflow, NewWorkflow, RetryWorkflow
from tests.simulation.clients import ClientProcess, until_known
from tests.simulation.flows import FlowOrder

LOOK_SECONDS = 0.5
LOOKS_MAX = 20


class FlowsProcess(ClientProcess[FlowOrder]):
    async def main(self) -> None:
        while self.orders:
            await asyncio.sleep(max(0.0, self.orders[0].at - self.loop.time()))
            new = self.orders[0].plan(self.client)
            await until_known(partial(self.store.enqueue_workflow, EnqueueWorkflow(new)))
            self.go_on(self.loop.create_task(self._follow(self.orders.pop(0), new)))
        await self.rest_done()

    async def _follow(self, order: FlowOrder, new: NewWorkflow) -> None:
        if order.cancelled_after is not None:
            await asyncio.sleep(order.cancelled_after)
            await (self._cancel_one(new) if order.one_job_cancelled else self._cancel_all(new))
        if order.retried:
            await self._retry(new)

    async def _cancel_all(self, new: NewWorkflow) -> None:
        await until_known(lambda: self.store.cancel_workflow(CancelWorkflow(id=new.id)))

    async def _cancel_one(self, new: NewWorkflow) -> None:
        """A job alone: if it waits, its workflow does not hear of it at once. It may be only planned."""
        job = self.random.choice([job for step in new.steps for job in step.jobs])
        try:
            await until_known(lambda: self.store.cancel_job(CancelJob(job.id)))
        except (UnknownJob, UsageError):
            pass  # It was removed, or is only planned.

    async def _retry(self, new: NewWorkflow) -> None:
        """Once it has ended, if that does not take too long."""
        for _ in range(LOOKS_MAX):
            await asyncio.sleep(LOOK_SECONDS)
            found = await until_known(lambda: self.store.read_workflow(new.id))
            if found is not None and found.state is not WorkflowState.RUNNING:
                break
        else:
            return
        ids = [self.client.new_id() for _ in range(found.size + 1)]
        try:
            await until_known(lambda: self.store.retry_workflow(RetryWorkflow(id=new.id, new_ids=ids)))
        except UsageError:
            pass  # It has completed, or the first try was stored after all.
