"""What the demo says of its jobs: every failed attempt is told, however short the looks were."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.cli.demo.events import Events
from penstock.domain.job import ErrorInfo, Job, State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOLD = "pack_order     order 1001      failed, will be tried again: the worker died"


def seen(state: State, attempt: int) -> Job:
    return Job(
        id="1", type="pack_order", queue="default", capability="general", payload={"order": "order 1001"}, priority=0,
        state=state, attempt=attempt, max_attempts=3, crashes=0, created_at=NOW, due_at=NOW,
        error=ErrorInfo("WorkerLost", "the worker died") if attempt else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "looks",
    [
        [(State.SCHEDULED, 1), (State.RUNNING, 2)],
        [(State.PENDING, 1), (State.RUNNING, 2)],
        [(State.CLAIMED, 2), (State.RUNNING, 2)],
        [(State.RUNNING, 2)],
        [(State.COMPLETED, 2)],
    ],
)
def test_a_failed_attempt_is_told_once_whatever_was_seen_after_it(looks: list[tuple[State, int]]) -> None:
    events = Events()
    lines = events.news([seen(State.RUNNING, 1)])
    for state, attempt in looks:
        lines += events.news([seen(state, attempt)])
    assert lines.count(TOLD) == 1
    assert lines[:2] == ["pack_order     order 1001      running", TOLD]


def test_a_job_that_waits_for_its_first_attempt_has_not_failed() -> None:
    events = Events()
    assert events.news([seen(State.PENDING, 0)]) == []
    assert events.news([seen(State.RUNNING, 1)]) == ["pack_order     order 1001      running"]
