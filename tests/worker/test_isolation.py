"""Who runs isolated after a crash, how many at once, and who does not wait for it (F3)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import App, JobHandle, State
from penstock.domain.job import Event
from penstock.store.contract import ClaimJobs, FinishJobs, RegisterWorker, Unfinished
from penstock.worker.processes import pool as processes
from penstock.worker.running import isolation
from tests.worker import suspect_jobs as jobs
from tests.worker.process_jobs import entries
from tests.worker.running import PATIENCE_SECONDS, _children, beside_worker, burst, no_child_left, until, until_state

OURS = os.getpid()


@pytest.fixture
def suspect_app(tmp_path: Path) -> Iterator[App]:
    with no_child_left(), jobs.store_of(jobs.app, tmp_path) as app:
        yield app


@pytest.fixture
def mixed_app(tmp_path: Path) -> Iterator[App]:
    with no_child_left(), jobs.store_of(jobs.mixed, tmp_path) as app:
        yield app


def crash(app: App, times: int) -> None:
    """A worker claims all that is due and is lost, so many times."""
    for number in range(times):
        worker = RegisterWorker(worker_id=f"lost-{number}", host="here", pid=1, version="0", slots=1, stale_after=30)
        session = app.store.register_worker(worker).wait().session
        claims = app.store.claim_jobs(ClaimJobs(session, 1000)).wait().jobs
        ends = [Unfinished(token=claim.token, event=Event.BACK_OFF, crash=True) for claim in claims]
        app.store.finish_jobs(FinishJobs(unfinished=ends)).wait()


def began(diary: Path) -> list[int]:
    return [int(pid) for (pid,) in entries(diary, "began")]


async def until_states(handles: list[JobHandle[Any]], expected: list[State]) -> None:
    """Wait until the store says so, in whatever order."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sorted([await job.astate() for job in handles]) != sorted(expected):
            await asyncio.sleep(0.01)


async def results(handles: list[JobHandle[Any]]) -> list[Any]:
    return [await job.aresult(PATIENCE_SECONDS) for job in handles]


@pytest.mark.parametrize("times", [1, 2])
def test_children_are_used_again_and_never_more_than_process_slots(suspect_app: App, times: int) -> None:
    calls = [job.bind() for job in (jobs.where, jobs.where_plain) for _ in range(15)]
    handles = suspect_app.enqueue_many(calls)
    crash(suspect_app, times)
    burst(suspect_app, process_slots=2, concurrency=8)
    children = {job.result(0) for job in handles} - {OURS}
    assert 1 <= len(children) <= 2
    if times > 1:
        assert OURS not in {job.result(0) for job in handles}
    assert {(job.read().attempt, job.read().crashes) for job in handles} == {(times + 1, times)}


def test_of_many_that_crashed_once_few_are_isolated_and_the_rest_run_as_usual(
    suspect_app: App, diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "STUCK_SECONDS", 0.05)
    gate = tmp_path / "gate"
    handles = [jobs.wait_for.enqueue(str(gate)) for _ in range(6)]
    crash(suspect_app, 1)

    async def story() -> None:
        await until(lambda: len(began(diary)) == 6, "none waits for another")
        assert sum(pid != OURS for pid in began(diary)) == 1
        gate.touch()
        await results(handles)

    beside_worker(suspect_app, story, process_slots=1, concurrency=10)


def test_what_crashed_twice_waits_its_turn_and_holds_up_nobody(suspect_app: App, diary: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    handles = [jobs.wait_for.enqueue(str(gate)) for _ in range(3)]
    crash(suspect_app, 2)

    async def story() -> None:
        await until(lambda: began(diary), "the first is isolated")
        for _ in range(20):
            assert await (await jobs.where.aenqueue()).aresult(PATIENCE_SECONDS) == OURS
        assert len(began(diary)) == 1, "the others wait"
        gate.touch()
        assert len(set(await results(handles))) == 1, "one after another in one child"
        assert OURS not in began(diary)

    beside_worker(suspect_app, story, process_slots=1, concurrency=4)


def test_more_of_them_than_slots_are_given_back_without_spending_an_attempt(
    suspect_app: App, diary: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    handles = [jobs.wait_for.enqueue(str(gate)) for _ in range(4)]
    crash(suspect_app, 2)

    async def story() -> None:
        await until(lambda: began(diary), "the first is isolated")
        await until_states(handles, [State.CLAIMED, State.SCHEDULED, State.SCHEDULED, State.RUNNING])
        assert sorted([(await job.aread()).attempt for job in handles]) == [2, 2, 3, 3]
        gate.touch()
        await results(handles)

    beside_worker(suspect_app, story, process_slots=1, concurrency=1)
    assert {job.read().attempt for job in handles} == {3}


def test_those_that_wait_for_a_place_go_back_before_the_start_timeout(
    suspect_app: App, diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would count them as never begun, and the fourth time they would be dead."""
    monkeypatch.setattr(isolation, "HELD_SECONDS", 1e6)
    gate = tmp_path / "gate"
    handles = [jobs.wait_for.enqueue(str(gate)) for _ in range(2)]
    crash(suspect_app, 2)

    async def story() -> None:
        await until_states(handles, [State.RUNNING, State.SCHEDULED])
        gate.touch()
        await results(handles)

    beside_worker(suspect_app, story, process_slots=1, concurrency=4, start_timeout=2.0)
    assert {job.read().attempt for job in handles} == {3}


def test_what_cannot_be_isolated_runs_as_usual_and_is_told_once_for_its_type(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    @app.job(attempts=9)
    async def local() -> int:
        return os.getpid()

    handles = [local.enqueue() for _ in range(5)]
    crash(app, 2)
    burst(app, process_slots=2)
    assert [job.result(0) for job in handles] == [OURS] * 5
    assert caplog.text.count("cannot be isolated") == 1


def test_a_timeout_kills_the_child_and_the_next_has_another(suspect_app: App, diary: Path) -> None:
    stubborn = jobs.stubborn.using(attempts=3, priority=9).enqueue()
    after = jobs.where.enqueue()
    crash(suspect_app, 2)
    burst(suspect_app, process_slots=1)
    assert (stubborn.state(), stubborn.read().crashes) == (State.DEAD, 2)
    assert after.result(0) not in (OURS, int(entries(diary, "stubborn")[0][0]))


def test_a_batch_item_that_crashed_runs_isolated_and_alone(suspect_app: App) -> None:
    before = suspect_app.enqueue_many(jobs.many.bind(item) for item in range(4))
    crash(suspect_app, 2)
    fresh = suspect_app.enqueue_many(jobs.many.bind(item) for item in range(3))
    burst(suspect_app, process_slots=2)
    assert [job.result(0) for job in fresh] == [[OURS, 3]] * 3
    assert {job.result(0)[1] for job in before} == {1}
    assert OURS not in {job.result(0)[0] for job in before}


def test_one_that_waits_can_be_cancelled(suspect_app: App, diary: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    handles = [jobs.wait_for.enqueue(str(gate)) for _ in range(2)]
    crash(suspect_app, 2)

    async def story() -> None:
        await until(lambda: began(diary), "the first is isolated")
        await until_states(handles, [State.CLAIMED, State.RUNNING])
        (waiting,) = [job for job in handles if await job.astate() is State.CLAIMED]
        await waiting.acancel()
        await until_state(waiting, State.CANCELLED)
        gate.touch()

    beside_worker(suspect_app, story, process_slots=1, concurrency=4)
    assert len(began(diary)) == 1


def test_children_leave_when_there_is_nothing_to_isolate(suspect_app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "IDLE_SECONDS", 0.1)
    before = _children()
    job = jobs.where.enqueue()
    crash(suspect_app, 1)

    async def story() -> None:
        child = str(await job.aresult(PATIENCE_SECONDS))
        await until(lambda: child not in _children(), "it has left")
        assert _children() == before
        again = await jobs.where.aenqueue()
        assert await again.aresult(PATIENCE_SECONDS) == OURS

    beside_worker(suspect_app, story, process_slots=2)


def test_process_handlers_and_isolated_attempts_share_the_children(
    mixed_app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    before = _children()
    isolated = [jobs.where_mixed.enqueue() for _ in range(20)]
    crash(mixed_app, 2)
    computed = [jobs.compute.enqueue(0.02) for _ in range(20)]
    most: list[int] = []

    async def story() -> None:
        async def count() -> None:
            while True:
                most.append(len(_children() - before))
                await asyncio.sleep(0.005)

        counting = asyncio.ensure_future(count())
        pids = set(await results([*isolated, *computed]))
        counting.cancel()
        assert OURS not in pids
        assert len(pids) <= 2

    beside_worker(mixed_app, story, process_slots=2)
    assert max(most) == 2
