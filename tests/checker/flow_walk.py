"""A random walk with workflows: graphs of any shape, cancelled and retried at any moment, and some never told."""

from __future__ import annotations

from collections.abc import Callable

from penstock.domain.options import Backoff
from penstock.domain.workflows import OnFailure, WorkflowState, workflow_id
from penstock.store import contract as p
from tests.checker.walk import Walk
from tests.contract.world import policy_text

STEPS_MAX, JOBS_MAX = 4, 2
FORGETS = 0.2
"""How often a worker does not tell the workflow of an end, as if it had been lost: the leader must find it."""


class FlowWalk(Walk):
    def acts(self) -> list[Callable[[], None]]:
        self._flows: list[p.NewWorkflow] = []
        self._removed = False
        return [*super().acts(), self._enqueue_flow, self._enqueue_flow, self._send_flow_again, self._cancel_flow,
                self._cancel_one, self._retry_flow, self._retry_flow, self._settle]  # fmt: skip

    def member(self, claim: p.Claim) -> str | None:
        return None if self.dice.random() < FORGETS else super().member(claim)

    def is_over(self) -> bool:
        self._settle()
        running = self.world.store.list_workflows(p.ListWorkflows(states=frozenset({WorkflowState.RUNNING}))).wait()
        return super().is_over() and not running

    # Steps

    def _enqueue_flow(self) -> None:
        id = workflow_id(self.world.new_id())
        self._removed = self.dice.random() < 0.2
        steps = tuple(self._step(id, number) for number in range(self.dice.randint(1, STEPS_MAX)))
        undo = self._job(id) if self.dice.random() < 0.5 else None
        self._flows.append(p.NewWorkflow(id=id, name="flow", steps=steps, compensate=undo))
        self.world.store.enqueue_workflow(p.EnqueueWorkflow(self._flows[-1])).wait()

    def _step(self, id: str, number: int) -> p.NewStep:
        """After any of those before it."""
        after = tuple(before for before in range(number) if self.dice.random() < 0.5)
        policy: OnFailure = self.dice.choice(("stop", "stop", "continue"))
        jobs = tuple(self._job(id) for _ in range(self.dice.randint(0, JOBS_MAX)))
        return p.NewStep(f"step-{number}", jobs, after, policy)

    def _job(self, id: str) -> p.NewJob:
        attempts, removed = self.dice.randint(1, 2), self._removed
        policy = policy_text(attempts=attempts, backoff=Backoff(2.0, 1.0), remove_on_complete=removed)
        return self.world.new_job(parent=id, policy=policy, ttl=self.dice.choice([None, None, 5.0]))

    def _send_flow_again(self) -> None:
        if self._flows:
            self.world.store.enqueue_workflow(p.EnqueueWorkflow(self.dice.choice(self._flows))).wait()

    def _cancel_flow(self) -> None:
        """A page at a time, and not always to the end."""
        if self._flows:
            flow = self.dice.choice(self._flows)
            self.world.store.cancel_workflow(p.CancelWorkflow(id=flow.id, limit=self.dice.choice((1, 500)))).wait()

    def _cancel_one(self) -> None:
        """A job of it alone, which may be only planned."""
        jobs = [job for flow in self._flows for step in flow.steps for job in step.jobs]
        if jobs:
            self.world.cancel(self.dice.choice(jobs).id)

    def _retry_flow(self) -> None:
        if self._flows:
            flow = self.dice.choice(self._flows)
            self.world.clock.advance(0.001)  # What comes after is told from what came before.
            ids = [self.world.new_id() for _ in range(STEPS_MAX * JOBS_MAX + 1)]
            self.world.store.retry_workflow(p.RetryWorkflow(id=flow.id, new_ids=ids)).wait()

    def _settle(self) -> None:
        self.world.store.settle_workflows(p.SettleWorkflows()).wait()
