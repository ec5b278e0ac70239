"""Payloads from other code: wrong, older, newer, renamed or unknown. Nothing is guessed and nothing is lost."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from penstock import App, JobFailed, State
from tests.worker.running import burst


@pytest.fixture
def stranger(tmp_path: Path) -> Any:
    """Another program on the same store, which knows none of the handlers."""
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({}, "missing required field `number`"),
        ({"number": "seven"}, "Expected `int`, got `str` - at `$.number`"),
        ({"number": None}, "Expected `int`, got `null`"),
        ({"number": 1, "when": "yesterday"}, "$.when"),
    ],
    ids=["missing", "wrong type", "null", "not a time"],
)
def test_a_payload_that_does_not_decode_is_dead_with_a_reason(
    app: App, stranger: App, payload: dict[str, Any], words: str
) -> None:
    ran: list[int] = []

    @app.job(attempts=3)
    async def work(number: int, when: datetime | None = None) -> None:
        ran.append(number)

    bad = stranger.enqueue("work", payload)
    good = [stranger.enqueue("work", {"number": number}) for number in range(3)]
    burst(app)
    read = bad.read()
    assert (read.state, read.attempt, read.decided_by) == (State.DEAD, 1, "worker")
    assert read.reason is not None
    assert words in read.reason
    assert read.error is not None
    assert read.error.type.endswith("PayloadError")
    with pytest.raises(JobFailed, match="work"):
        bad.result(timeout=0)
    assert [job.state() for job in good] == [State.COMPLETED] * 3
    assert sorted(ran) == [0, 1, 2]


def test_a_worker_that_met_only_bad_payloads_stops_at_once(app: App, stranger: App) -> None:
    @app.job
    async def work(number: int) -> None: ...

    bad = [stranger.enqueue("work", {"number": "seven"}) for _ in range(100)]
    burst(app, shutdown_timeout=600, concurrency=2)
    assert {job.state() for job in bad} == {State.DEAD}


def test_an_unknown_type_is_never_run_and_keeps_waiting(app: App, stranger: App) -> None:
    @app.job
    async def known() -> str:
        return "ran"

    unknown = stranger.enqueue("unknown", {"anything": 1}, priority=100)
    other = stranger.enqueue("known")
    burst(app)
    assert other.result(timeout=0) == "ran"
    assert (unknown.read().state, unknown.read().attempt) == (State.PENDING, 0)


def test_a_renamed_type_runs_its_waiting_jobs_by_alias(app: App, stranger: App) -> None:
    @app.job(name="new_name", aliases=["old_name", "older_name"])
    async def work(number: int) -> int:
        return number * 2

    jobs = [stranger.enqueue(name, {"number": 4}) for name in ("old_name", "older_name", "new_name")]
    burst(app)
    assert [job.result(timeout=0) for job in jobs] == [8, 8, 8]


def test_payloads_of_older_and_newer_code_are_accepted(app: App, stranger: App) -> None:
    @app.job
    async def work(number: int, added: str = "default") -> list[Any]:
        return [number, added]

    older = stranger.enqueue("work", {"number": 1})
    newer = stranger.enqueue("work", {"number": 2, "added": "given", "unheard_of": [1, 2]})
    burst(app)
    assert (older.result(timeout=0), newer.result(timeout=0)) == ([1, "default"], [2, "given"])


def test_a_type_that_this_worker_was_told_to_leave_is_left(app: App) -> None:
    @app.job
    async def one() -> None: ...

    @app.job
    async def two() -> None: ...

    left, taken = one.enqueue(), two.enqueue()
    burst(app, types=["two"])
    assert (left.state(), taken.state()) == (State.PENDING, State.COMPLETED)
