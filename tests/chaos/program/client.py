"""A client of a chaos run: enqueues the jobs of a file and tries each again, with its id, until the store has it.

Started again after a kill, it begins at the first job of the file: whatever was stored before is not stored twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Protocol

import psycopg

from penstock import StoreError
from penstock.client.client import JobCall
from penstock.client.workflow import WorkflowHandle
from penstock.store.contract import EnqueueWorkflow, NewJob, NewStep, NewWorkflow
from tests.chaos.load import FlowStep, Plan, read_plans
from tests.chaos.program.lifeline import prepare
from tests.chaos.program.outfit import new_app, role

AGAIN_SECONDS = 0.05
log = logging.getLogger("chaos.client")
PASSING = (StoreError, psycopg.OperationalError)
"""What a client tries again after: statements of its own, in a transaction, fail with the errors of the driver."""


class Stored(Protocol):
    @property
    def created(self) -> bool: ...


class Client:
    """An app without handlers: it enqueues by name, as another program would."""

    def __init__(self) -> None:
        self.app = new_app()

    def parcels(self) -> Iterator[list[Plan]]:
        """The jobs that are enqueued together."""
        assert role.plans is not None
        for _, plans in groupby(read_plans(role.plans), key=lambda plan: (plan.parcel, plan.ordered)):
            yield list(plans)

    def _calls(self, plans: list[Plan]) -> list[JobCall[Any]]:
        return [self.app.client.call_by_name(plan.type, plan.payload, plan.given(), {}) for plan in plans]

    def _workflow(self, plan: Plan) -> NewWorkflow:
        """With the ids of its plan, so that it is stored once however often it is sent."""
        assert plan.flow is not None
        steps = tuple(self._step(number, step) for number, step in enumerate(plan.flow.steps))
        undo = None if plan.flow.undo is None else self._part(plan.flow.undo)
        return NewWorkflow(id=plan.id, name="flow", steps=steps, compensate=undo)

    def _step(self, number: int, step: FlowStep) -> NewStep:
        before = (number - 1,) if number else ()
        return NewStep(f"step-{number}", tuple(map(self._part, step.jobs)), before, step.on_failure)

    def _part(self, plan: Plan) -> NewJob:
        [call] = self._calls([plan])
        assert plan.of is not None
        return self.app.client.child(call, plan.of)

    def _put(self, plans: list[Plan], conn: object | None) -> list[Stored]:
        """A workflow is in a parcel of its own."""
        if plans[0].type != "workflow":
            return [*self.app.enqueue_many(self._calls(plans), conn=conn)]
        created = self.app.store.enqueue_workflow(EnqueueWorkflow(self._workflow(plans[0]), conn)).wait().created
        return [WorkflowHandle(plans[0].id, created, self.app.client)]

    async def _aput(self, plans: list[Plan], conn: object | None) -> list[Stored]:
        if plans[0].type != "workflow":
            return [*await self.app.aenqueue_many(self._calls(plans), conn=conn)]
        created = (await self.app.store.enqueue_workflow(EnqueueWorkflow(self._workflow(plans[0]), conn))).created
        return [WorkflowHandle(plans[0].id, created, self.app.client)]

    def _order(self, tx: Any, plans: list[Plan]) -> None:
        for plan in plans:
            tx.execute(f"INSERT INTO {role.orders} (job) VALUES (?) ON CONFLICT DO NOTHING", (plan.id,))

    # Plain code

    def send(self, plans: list[Plan]) -> list[Stored]:
        if plans[0].ordered:
            with self.app.transaction() as tx:
                self._order(tx, plans)
                return self._put(plans, tx)
        return self._put(plans, None)

    def run(self) -> None:
        for plans in self.parcels():
            while True:
                try:
                    stored = self.send(plans)
                    break
                except PASSING as error:
                    log.warning("not stored yet: %r", error)
                    time.sleep(AGAIN_SECONDS)
            time.sleep(pause_after(stored))

    # Async code

    async def asend(self, plans: list[Plan]) -> list[Stored]:
        if plans[0].ordered:
            async with self.app.atransaction() as tx:
                self._order(tx, plans)
                return await self._aput(plans, tx)
        return await self._aput(plans, None)

    async def arun(self) -> None:
        parcels = self.parcels()
        await asyncio.gather(*(self._lane(parcels) for _ in range(role.at_once)))

    async def _lane(self, parcels: Iterator[list[Plan]]) -> None:
        for plans in parcels:
            while True:
                try:
                    stored = await self.asend(plans)
                    break
                except PASSING as error:
                    log.warning("not stored yet: %r", error)
                    await asyncio.sleep(AGAIN_SECONDS)
            await asyncio.sleep(pause_after(stored) * role.at_once)


def pause_after(stored: list[Stored]) -> float:
    """None after what was stored before: a client that was killed soon comes to where it was."""
    return role.pause if any(job.created for job in stored) else 0.0


def main() -> None:
    prepare()
    client = Client()
    try:
        if role.at_once > 1:
            asyncio.run(client.arun())
        else:
            client.run()
    finally:
        client.app.close()


if __name__ == "__main__":
    main()
