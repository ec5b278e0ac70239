"""What a job of a workflow gets from the steps before its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.domain.errors import JobFailed, UsageError
from penstock.domain.job import State
from penstock.domain.payload import decode_json
from penstock.domain.workflows import is_workflow
from penstock.store.params import Claim, ReadResults, StepResult
from penstock.worker.batches import Failed

RESULTS_BYTES_MAX = 64 * 1024 * 1024


def asked_results(claim: Claim, step: str) -> ReadResults:
    if claim.parent is None or not is_workflow(claim.parent):
        raise UsageError(f"ctx.results({step!r}): this job belongs to no workflow, so there are no steps before it")
    return ReadResults(claim.parent, step, RESULTS_BYTES_MAX)


def gathered(found: Sequence[StepResult], step: str) -> Any:
    """The result of a step of one job, or the list of those of many."""
    waiting = sum(one.state is None for one in found)
    if waiting:
        raise UsageError(
            f"ctx.results({step!r}): {waiting} of its {len(found)} jobs have not ended; only the results of steps that "
            "this one comes after are there"
        )
    return _value(found[0], step) if len(found) == 1 else [_value(one, step) for one in found]


def _value(one: StepResult, step: str) -> Any:
    if one.state is not State.COMPLETED:
        return Failed(JobFailed(f"a job of step {step!r} is {one.state}", None))
    return None if one.result is None else decode_json(one.result)
