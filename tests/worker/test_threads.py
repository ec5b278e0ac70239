"""Threads for plain handlers: bounded, reused, and replaced when their job was given up."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from penstock import App
from penstock.worker.running.run import Run, TypePlan
from penstock.worker.running.threads import Threads
from tests.worker.fakes import claim, declaration_of, default_policy


def make_run(app: App, token: int = 1) -> Run:
    declaration = declaration_of(app, "work")
    arguments = declaration.signature.decode("{}")
    return Run(claim(token), TypePlan(declaration, "work", app.store), default_policy(), arguments, 0.0, 0)


def test_threads_are_bounded_and_reused(app: App) -> None:
    names: set[str] = set()

    @app.job
    def work() -> int:
        names.add(threading.current_thread().name)
        return 7

    async def main() -> None:
        done: asyncio.Queue[tuple[Run, Any, BaseException | None]] = asyncio.Queue()
        threads = Threads(asyncio.get_running_loop(), 2, lambda *end: done.put_nowait(end))
        for round_number in range(20):
            runs = [make_run(app, round_number * 2 + n) for n in range(2)]
            for run in runs:
                threads.start(run)
            ended = [await done.get() for _ in runs]
            assert {run.claim.token for run, _, _ in ended} == {run.claim.token for run in runs}
            assert {(result, error) for _, result, error in ended} == {(7, None)}
        threads.close()

    asyncio.run(main())
    assert len(names) <= 2


def test_a_stuck_thread_is_replaced_and_ends_when_it_is_done(app: App) -> None:
    release, stuck = threading.Event(), threading.Semaphore(0)
    stuck_threads: list[threading.Thread] = []

    @app.job
    def work() -> str:
        if release.is_set():
            return "quick"
        stuck_threads.append(threading.current_thread())
        stuck.release()
        blocker.wait(30)
        return "late"

    blocker = threading.Event()

    async def main() -> None:
        done: asyncio.Queue[tuple[Run, Any, BaseException | None]] = asyncio.Queue()
        threads = Threads(asyncio.get_running_loop(), 1, lambda *end: done.put_nowait(end))
        late = make_run(app, 1)
        threads.start(late)
        await asyncio.to_thread(stuck.acquire)
        late.over = True
        threads.give_up()
        release.set()
        threads.start(make_run(app, 2))
        run, result, _ = await done.get()
        assert (run.claim.token, result) == (2, "quick"), "another thread took its place"
        blocker.set()
        run, result, _ = await done.get()
        assert (run.claim.token, result) == (1, "late"), "the late answer comes, for the executor to ignore"
        await asyncio.to_thread(stuck_threads[0].join, 30)
        assert not stuck_threads[0].is_alive()
        threads.start(make_run(app, 3))
        assert (await done.get())[0].claim.token == 3
        threads.close()

    asyncio.run(main())


def test_a_thread_that_ends_after_the_loop_was_closed_harms_nobody(app: App) -> None:
    begun, blocker = threading.Event(), threading.Event()
    worker_threads: list[threading.Thread] = []

    @app.job
    def work() -> None:
        worker_threads.append(threading.current_thread())
        begun.set()
        blocker.wait(30)

    async def main() -> None:
        threads = Threads(asyncio.get_running_loop(), 1, lambda *end: None)
        threads.start(make_run(app))
        await asyncio.to_thread(begun.wait)
        threads.close()

    asyncio.run(main())
    blocker.set()
    worker_threads[0].join(30)
    assert not worker_threads[0].is_alive()
