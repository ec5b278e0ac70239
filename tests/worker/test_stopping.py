"""What a worker still begins once it was told to stop: nothing, from that very moment (A5)."""

from __future__ import annotations

import asyncio

import pytest

from penstock import App, JobHandle, State
from penstock.store.contract import Claimed, ClaimJobs
from penstock.worker.worker import Worker
from tests.worker.running import beside_worker, until, until_state


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set in the very moment in which the worker is told to stop."""
    event, stop = asyncio.Event(), Worker.stop

    def stop_and_set(worker: Worker) -> None:
        stop(worker)
        event.set()

    monkeypatch.setattr(Worker, "stop", stop_and_set)
    return event


def test_a_claim_that_is_answered_as_the_worker_stops_is_given_back(
    app: App, monkeypatch: pytest.MonkeyPatch, stopped: asyncio.Event
) -> None:
    claim_jobs = app.store.claim_jobs
    jobs: list[JobHandle[None]] = []

    async def slow_claim(params: ClaimJobs) -> Claimed:
        claimed = await claim_jobs(params)
        if claimed.jobs and jobs:
            await stopped.wait()
        return claimed

    @app.job
    async def wait() -> None:
        await stopped.wait()

    async def story() -> None:
        first = await wait.aenqueue()
        await until_state(first, State.RUNNING)
        jobs.append(first)
        jobs.append(await wait.aenqueue())
        await until_state(jobs[1], State.CLAIMED)

    monkeypatch.setattr(app.store, "claim_jobs", slow_claim)
    beside_worker(app, story, concurrency=2)
    assert [job.state() for job in jobs] == [State.COMPLETED, State.PENDING]


def test_what_was_claimed_ahead_does_not_begin_when_a_slot_becomes_free(app: App, stopped: asyncio.Event) -> None:
    """A pace of quick jobs makes the worker claim ahead; then one takes long, and ends as the worker stops."""
    begun: list[str] = []

    @app.job
    async def quick() -> None:
        begun.append("quick")

    @app.job
    async def slow() -> None:
        begun.append("slow")
        await stopped.wait()

    async def story() -> None:
        await app.aenqueue_many([*[quick.bind()] * 3000, slow.bind(), *[quick.bind()] * 100])
        await until(lambda: "slow" in begun, "the slot is taken")
        async with asyncio.timeout(30):
            while not any(one.state is State.CLAIMED for one in await app.store.count_jobs()):
                await asyncio.sleep(0.005)

    beside_worker(app, story, concurrency=1)
    assert begun == [*["quick"] * 3000, "slow"]
    left = [(one.state, one.jobs) for one in app.store.count_jobs().wait() if one.state is not State.COMPLETED]
    assert left == [(State.PENDING, 100)]
