"""Waiting for a job inside a handler is refused, since it could wait for its own slot; what has ended is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Context, Handler, JobFailed, ResultTimeout
from tests.worker import process_jobs
from tests.worker.running import beside_worker, burst

REFUSED = (
    r"has not ended, and a handler cannot wait for it: it would keep its slot .* a follow-up, by ctx.enqueue\(…\) "
    r"or by then\(…\) on the type, or a step of a workflow"
)


def waiting(app: App, kind: str, wait: Callable[[], Any]) -> Any:
    """A handler of this kind that waits for a job somewhere below it."""

    async def on_the_loop() -> Any:
        return await asyncio.create_task(wait())

    def in_a_thread() -> Any:
        return wait()

    async def in_a_thread_of_its_own() -> Any:
        return await asyncio.to_thread(wait)

    async def several(items: list[int]) -> list[Any]:
        return [await wait() for _ in items]

    if kind == "batch":
        return app.batch_job(name="work", attempts=1)(several).bind(1)
    handlers: Any = {"async": on_the_loop, "thread": in_a_thread, "to_thread": in_a_thread_of_its_own}
    return app.job(name="work", attempts=1)(handlers[kind]).bind()


@pytest.mark.parametrize("kind", ["async", "thread", "to_thread", "batch"])
@pytest.mark.parametrize("ended", [False, True], ids=["waiting", "ended"])
def test_below_a_handler(app: App, kind: str, ended: bool) -> None:
    @app.job(queue="slow")
    async def child() -> int:
        return 7

    child_job = child.enqueue()
    if ended:
        burst(app)
    plainly = kind in ("thread", "to_thread")
    (job,) = app.enqueue_many(
        [waiting(app, kind, (lambda: child_job.result(30)) if plainly else (lambda: child_job.aresult(30)))]
    )
    burst(app, queues=["default"])
    if ended:
        assert job.result(timeout=0) == 7
    else:
        with pytest.raises(JobFailed, match=REFUSED):
            job.result(timeout=0)


def test_in_a_child_process(process_app: App, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    slow, done = process_jobs.echo.using(queue="slow").enqueue("never"), process_jobs.echo.enqueue("done")
    burst(process_app, process_slots=1, queues=["default"])
    jobs = [process_jobs.wait_in_child.enqueue(url, job.id) for job in (slow, done)]
    burst(process_app, process_slots=1, queues=["default"])
    refused, answered = (job.result(timeout=0) for job in jobs)
    assert "a handler cannot wait for it" in refused
    assert answered == "done"


def test_a_look_without_waiting_is_a_timeout_as_everywhere(app: App) -> None:
    @app.job(queue="slow")
    async def child() -> None: ...

    @app.job
    async def work(job_id: str) -> str:
        with pytest.raises(ResultTimeout):
            await (await app.aget(job_id)).aresult(timeout=0)
        return "went on"

    job = work.enqueue(child.enqueue().id)
    burst(app, queues=["default"])
    assert job.result(timeout=0) == "went on"


def test_what_outlives_its_job_may_wait(app: App) -> None:
    left_behind: list[asyncio.Task[int]] = []
    over = asyncio.Event()

    @app.job
    async def child() -> int:
        return 7

    async def later() -> int:
        await over.wait()
        return await (await child.aenqueue()).aresult(timeout=30)

    class Work(Handler[dict[str, int], None]):
        async def process(self, ctx: Context, data: dict[str, int]) -> None:
            left_behind.append(asyncio.create_task(later()))

        async def on_complete(self, ctx: Context, result: None) -> None:
            over.set()

    app.register(Work()).enqueue({})

    async def story() -> None:
        await over.wait()
        assert await left_behind[0] == 7

    beside_worker(app, story)


def test_outside_of_handlers_nothing_is_refused(app: App) -> None:
    @app.job
    async def work() -> None: ...

    with pytest.raises(ResultTimeout):
        work.enqueue().result(timeout=0.01)
