"""A retry is left to another worker, if one that could take it is known (F2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import App, Context, Fixed, State
from penstock.domain.options import Options, Resources
from penstock.domain.registry import Declaration
from penstock.observe.stuck import takers_among
from penstock.store.contract import Claim, ClaimJobs, HeartbeatWorker, RegisterWorker, WorkerInfo
from penstock.worker.claiming import other_workers
from penstock.worker.claiming.other_workers import OtherWorkers
from penstock.worker.running.run import Run, TypePlan
from tests.worker.running import beside_worker, burst, until, until_state


def register(app: App, worker_id: str, **fields: Any) -> int:
    known = {"host": "h", "pid": 1, "version": "1", "slots": 5, "stale_after": 60.0}
    return app.store.register_worker(RegisterWorker(worker_id=worker_id, **{**known, **fields})).wait().session


def run_of(app: App, queue: str = "default", **options: Any) -> Run:
    @app.job(name="task", **options)
    def task() -> None: ...

    declaration = app.registry.find("task")
    assert isinstance(declaration, Declaration)
    claim = Claim(1, "id", "task", queue, 1, 0, "{}", None, 0, 0, 0)
    return Run(claim, TypePlan(declaration, "task", app.store), declaration.options.policy, None, 0.0, 0)


async def knows(app: App, session: int, run: Run) -> bool:
    """What it answers once it has looked around."""
    known = OtherWorkers(app.store, lambda: session)
    assert not known.may_take(run)
    looking = asyncio.ensure_future(known.run())
    await until(lambda: known.around, "it has looked")
    looking.cancel()
    return known.may_take(run)


@pytest.mark.parametrize(
    ("other", "may"),
    [
        ({}, True),
        ({"types": ("task", "more")}, True),
        ({"types": ("more",)}, False),
        ({"queues": ("mail",)}, False),
        ({"capabilities": ("ml",)}, False),
    ],
)
def test_another_live_worker_that_could_take_it(app: App, other: dict[str, Any], may: bool) -> None:
    session = register(app, "this")
    register(app, "other", **other)
    assert asyncio.run(knows(app, session, run_of(app))) is may


def test_resources_count_too(app: App) -> None:
    session = register(app, "this")
    register(app, "other")
    assert not asyncio.run(knows(app, session, run_of(app, resources=Resources(gpu=1))))


def test_this_worker_and_those_that_ended_do_not_count(app: App) -> None:
    session = register(app, "this")
    for status in ("inactive", "draining"):
        ended = register(app, status)
        app.store.heartbeat_worker(HeartbeatWorker(ended, status)).wait()
    assert not asyncio.run(knows(app, session, run_of(app)))


def test_this_worker_is_among_those_around(app: App) -> None:
    """Who shares new work with whom is reckoned by all alike, from the same list."""
    session, other = register(app, "this"), register(app, "other")
    known = OtherWorkers(app.store, lambda: session)

    async def main() -> None:
        looking = asyncio.ensure_future(known.run())
        await until(lambda: known.around, "it has looked")
        looking.cancel()

    asyncio.run(main())
    assert {one.session for one in known.around} == {session, other}


def test_a_worker_leaves_its_second_failure_to_the_other(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_workers, "LOOK_SECONDS", 0.0)
    other = register(app, "other", declared={"fails": Options()})

    @app.job(attempts=1000, backoff=Fixed(0))
    async def fails() -> None:
        raise ValueError("always")

    async def story() -> None:
        job = await fails.aenqueue()
        taken: list[str] = []

        def taken_by_the_other() -> bool:
            taken.extend(claim.id for claim in app.store.claim_jobs(ClaimJobs(other, 1)).wait().jobs)
            return bool(taken)

        await until(taken_by_the_other, "the other has claimed it: this worker leaves it alone for a while")
        assert taken == [job.id]
        await until_state(job, State.CLAIMED)

    beside_worker(app, story)


def test_in_burst_mode_nothing_is_left_to_others_who_may_be_gone(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that waits for another one ends with the job still waiting if that has ended meanwhile."""
    register(app, "other")
    looked = asyncio.Event()

    def note(workers: list[WorkerInfo]) -> list[WorkerInfo]:
        looked.set()
        return takers_among(workers)

    monkeypatch.setattr(other_workers, "takers_among", note)

    @app.job(attempts=2, backoff=Fixed(0))
    async def shaky(ctx: Context) -> None:
        await looked.wait()
        await asyncio.sleep(0)  # What it saw is noted in the same step.
        if ctx.attempt == 1:
            raise ValueError

    job = shaky.enqueue()
    burst(app)
    assert (job.read().state, job.read().attempt) == (State.COMPLETED, 2)
