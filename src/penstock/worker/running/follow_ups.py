"""The follow-ups of one attempt: what its handler enqueued, and what its type declares by then() (C1)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from penstock.client.client import JobCall
from penstock.domain.current_call import running
from penstock.domain.errors import UsageError
from penstock.domain.registry import FollowUp
from penstock.worker.running.run import Run


def follow_ups_of(run: Run, result: Any) -> tuple[JobCall[Any], ...]:
    """What is enqueued with a success. The functions given to then() are called here and may raise anything.

    They see what the handler returned: of what ran in a child process, the child has asked them.
    """
    declared = run.plan.declaration.follow_ups
    if not declared or run.apart:
        return run.follow_ups
    before = running.set(run)
    try:
        return (*run.follow_ups, *(call for one in declared for call in _calls(run, one, result)))
    finally:
        running.reset(before)


def _calls(run: Run, follow_up: FollowUp, result: Any) -> Sequence[JobCall[Any]]:
    if follow_up.when is not None and not _now(run, "when=", follow_up.when(result)):
        return ()
    answer = _now(run, "the function", follow_up.make(result))
    calls = answer if isinstance(answer, (list, tuple)) else () if answer is None else (answer,)
    for call in calls:
        if not isinstance(call, JobCall):
            raise UsageError(
                f"the function given to {run.claim.type}.then() answered a {type(call).__name__}: it answers a call "
                "made by bind(), a list of such calls, or None for no follow-up"
            )
    return calls


def _now(run: Run, what: str, answer: Any) -> Any:
    """The answer, unless it is only a promise of one."""
    if inspect.iscoroutine(answer):
        answer.close()
        raise UsageError(f"{what} of {run.claim.type}.then() is async; it is asked at once: make it a plain function")
    return answer
