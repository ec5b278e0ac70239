"""What a job of a workflow gets from the steps before its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.domain.errors import JobFailed, UsageError
from penstock.domain.job import State
from penstock.domain.payload import decode_json, from_plain
from penstock.domain.registry import Registry
from penstock.domain.workflows import is_workflow
from penstock.store.contract import Claim, ReadResults, StepResult
from penstock.worker.running.batches import Failed

RESULTS_BYTES_MAX = 64 * 1024 * 1024


def asked_results(claim: Claim, step: str) -> ReadResults:
    if claim.parent is None or not is_workflow(claim.parent):
        raise UsageError(f"ctx.results({step!r}): this job belongs to no workflow, so there are no steps before it")
    return ReadResults(claim.parent, step, RESULTS_BYTES_MAX)


def gathered(found: Sequence[StepResult], step: str, registry: Registry | None) -> Any:
    """The result of a step of one job, or the list of those of many, as the annotations of their handlers say."""
    waiting = sum(one.state is None for one in found)
    if waiting:
        raise UsageError(
            f"ctx.results({step!r}): {waiting} of its {len(found)} jobs have not ended; only the results of steps that "
            "this one comes after are there"
        )
    if len(found) == 1 and not found[0].many:
        return _value(found[0], step, registry)
    return [_value(one, step, registry) for one in found]


def _value(one: StepResult, step: str, registry: Registry | None) -> Any:
    if one.state is not State.COMPLETED:
        return Failed(JobFailed(f"job {one.id} ({one.type}) of step {step!r} is {one.state}", None))
    plain = None if one.result is None else decode_json(one.result)
    declaration = None if registry is None else registry.find(one.type)
    if declaration is None or declaration.result_type is None:
        return plain
    return from_plain(declaration.result_type, plain)
