"""A workflow as it reads: steps of jobs, each begun when those that it comes after have ended (C2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from penstock.domain.errors import ConfigError, UnknownWorkflow
from penstock.domain.job import FINAL, State
from penstock.domain.texts import brief

OnFailure = Literal["stop", "continue"]
"""What follows when a job of a step did not complete: no later step begins, or those after it begin all the same."""
ON_FAILURE: tuple[OnFailure, ...] = ("stop", "continue")

STEPS_MAX = 10_000
_KIND = 14
"""Where a UUID says of which version it is."""


class WorkflowState(StrEnum):
    """Where a workflow is. The last three are final, unless somebody retries it."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class StepInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `jobs` says how many are in which state; those of a step that has not begun are blocked."""

    name: str
    after: tuple[str, ...]
    on_failure: OnFailure
    size: int
    begun: bool
    jobs: Mapping[State, int]

    @property
    def ended(self) -> int:
        return sum(count for state, count in self.jobs.items() if state in FINAL)


class WorkflowInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow as it is now. `parent` is the job that made it, if one did. One that runs and begins no more steps,
    since it was cancelled or a job of it failed, is `stopping`: in this state it will end.
    """

    id: str
    name: str
    state: WorkflowState
    created_at: datetime
    ended_at: datetime | None = None
    stopping: WorkflowState | None = None
    parent: str | None = None
    size: int = 0
    ended: int = 0
    steps: tuple[StepInfo, ...] = ()


def workflow_id(made: str) -> str:
    """The id of a workflow, from one that was made for a job: a UUID of version 8. So whoever meets it as the parent of
    a job knows what it is, and the jobs of no workflow cost nothing.
    """
    return f"{made[:_KIND]}8{made[_KIND + 1 :]}"


def is_workflow(id: str | None) -> bool:
    return id is not None and id[_KIND : _KIND + 1] == "8"


def find_cycle(after: Sequence[Sequence[int]]) -> list[int] | None:
    """Steps that wait for each other in a circle, each for the next, or None. `after` is what each waits for."""
    done: set[int] = set()
    for start in range(len(after)):
        path: list[int] = []
        waiting = [(start, iter(after[start]))] if start not in done else []
        on_path = {start}
        while waiting:
            step, rest = waiting[-1]
            path = [one for one, _ in waiting]
            following = next((one for one in rest if one not in done), None)
            if following is None:
                waiting.pop()
                done.add(step)
                on_path.discard(step)
            elif following in on_path:
                return path[path.index(following) :]
            else:
                on_path.add(following)
                waiting.append((following, iter(after[following])))
    return None


def check_on_failure(value: str) -> OnFailure:
    for known in ON_FAILURE:
        if value == known:
            return known
    raise ConfigError(f"on_failure={brief(value)} does not exist; use one of: {', '.join(ON_FAILURE)}")


def unknown_workflow(workflow: str) -> UnknownWorkflow:
    return UnknownWorkflow(
        f"no workflow has the id {workflow}; it never existed in this store, or retention removed it"
    )
