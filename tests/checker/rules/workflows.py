"""Workflows: steps begin in their order, everything that was planned runs, and nothing is left half done."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Life
from tests.checker.history import NEVER, Operation
from tests.checker.rules.keeping import removed
from tests.checker.rules.rule import Broken, Case, rule
from tests.checker.workflows import SPENT, Flow, Generation


def _clear(case: Case) -> list[Flow]:
    return [flow for flow in case.evidence.workflows.values() if not flow.vague]


# Steps


@rule("A step begins when every job of the steps before it has ended and none failed that should have stopped it.")
def steps_in_their_order(case: Case) -> Iterator[Broken]:
    for flow in _clear(case):
        for number in range(len(flow.last.steps)):
            for id in dict.fromkeys(id for one in flow.generations for id in one.steps[number]):
                life = case.evidence.lives[id]
                message = _begun_too_early(case, flow, number, life) if life.leases else None
                if message is not None:
                    at = life.leases[0].claim.ended
                    yield Broken(f"job {id} {message}", jobs=(id, flow.id, *_before(flow, number)), at=at)


def _before(flow: Flow, number: int) -> set[str]:
    return {id for generation in flow.generations for _, id in flow.before(generation, number)}


def _begun_too_early(case: Case, flow: Flow, number: int, life: Life) -> str | None:
    """A job that a retry has not replaced began either before or after it: it is enough if one of them is in order."""
    claim = life.leases[0].claim
    if _cancelled_before(flow, claim):
        return f"was claimed after workflow {flow.id} had been cancelled"
    of = [one for one in flow.generations if life.id in one.steps[number]]
    found = [_hindrance(case, flow, generation, number, claim) for generation in of]
    return found[-1] if None not in found else None


def _cancelled_before(flow: Flow, claim: Operation) -> bool:
    """Whether a cancel was surely heard before this claim, and no retry has come since."""
    heard = [one for one in flow.cancels if one.ok and one.told.before == "running" and one.told.whole]
    return any(
        cancel.before(claim)
        and not any(retry.ended > cancel.begun and retry.begun < claim.ended for retry in flow.retries)
        for cancel in heard
    )


def _hindrance(case: Case, flow: Flow, generation: Generation, number: int, claim: Operation) -> str | None:
    assert flow.plan is not None
    for step, id in flow.before(generation, number):
        before = case.evidence.lives[id]
        if case.evidence.alive_until(before) > claim.ended:
            return f"was claimed before job {id} of a step before its own had ended"
        if _never_was(case, before):
            return f"was claimed, and job {id} of a step before its own never was enqueued"
        if flow.plan.steps[step].on_failure == "stop" and any(job.state in SPENT for job in before.true):
            return f"was claimed, and job {id} of a step before its own is {before.true[0].state}"
    return None


def _never_was(case: Case, life: Life) -> bool:
    """Whether it is neither stored nor was ever claimed, and nothing that removes jobs can have removed it."""
    return not life.true and not life.leases and not removed(case) and not (life.job and life.job.ttl)


# Wholes


@rule("A workflow is enqueued once and kept. When it has completed, every job that was planned has run.")
def whole_workflows(case: Case) -> Iterator[Broken]:
    for flow in _clear(case):
        stored = [case.evidence.made(one) for one in flow.made]
        created = [one.operation for one in flow.made if one.token is None and _created(one.operation)]
        if flow.true is not None and all(one is False for one in stored):
            yield _at_the_end(flow, "is in the store, and nobody has put it there")
        if flow.true is None and any(stored) and not case.history.of("prune"):
            yield _at_the_end(flow, "was acknowledged and is not in the store")
        if len(created) > 1:
            events = [event for operation in created for event in operation.events]
            yield Broken(f"workflow {flow.id} was created {len(created)} times", events)
        if flow.true is not None and flow.true.state == "completed":
            yield from _left_out(case, flow)


def _created(operation: Operation) -> bool:
    return operation.ok and bool(operation.told.created)


def _left_out(case: Case, flow: Flow) -> Iterator[Broken]:
    assert flow.plan is not None or not flow.made
    for number, id in flow.jobs():
        life = case.evidence.lives[id]
        if _never_was(case, life):
            yield _at_the_end(flow, f"has completed, and its job {id} never was enqueued", id)
        stops = flow.plan is not None and flow.plan.steps[number].on_failure == "stop"
        if stops and any(job.state in SPENT for job in life.true):
            yield _at_the_end(flow, f"has completed, and its job {id} is {life.true[0].state}", id)


def _at_the_end(flow: Flow, what: str, *jobs: str) -> Broken:
    return Broken(f"workflow {flow.id} {what}", jobs=(flow.id, *jobs), at=NEVER)


# Ends


@rule("No workflow is stuck: it has ended and so have its jobs, or one of its jobs has not ended.")
def no_workflow_is_stuck(case: Case) -> Iterator[Broken]:
    for flow in _clear(case):
        unfinished = [
            id for _, id in flow.jobs() if any(not job.final for job in case.evidence.lives[id].true)
        ]  # fmt: skip
        if flow.true is None:
            continue
        if flow.true.state == "running" and not unfinished:
            yield _at_the_end(flow, "is running, and none of its jobs is left to end")
        if flow.true.state != "running" and unfinished:
            yield _at_the_end(flow, f"is {flow.true.state}, and its job {unfinished[0]} has not ended", unfinished[0])


# Compensation


@rule("The job that compensates is enqueued when a workflow has failed, after its other jobs, and only then.")
def compensation_of_failures(case: Case) -> Iterator[Broken]:
    for flow in _clear(case):
        if flow.true is None or flow.last.compensate is None:
            continue
        life = case.evidence.lives[flow.last.compensate]
        failed = flow.true.state == "failed"
        if failed and _never_was(case, life):
            yield _at_the_end(flow, f"has failed, and job {life.id} that compensates never was enqueued", life.id)
        if not failed and (life.true or life.leases):
            yield _at_the_end(flow, f"is {flow.true.state}, and job {life.id} compensates", life.id)
        yield from _compensated_too_early(case, flow, life)


def _compensated_too_early(case: Case, flow: Flow, life: Life) -> Iterator[Broken]:
    for lease in life.leases[:1]:
        for _, id in flow.jobs():
            other = case.evidence.lives[id]
            if other.leases and case.evidence.alive_until(other) > lease.claim.ended:
                message = f"job {life.id} that compensates was claimed before job {id} had ended"
                yield Broken(message, jobs=(life.id, id), at=lease.claim.ended)
