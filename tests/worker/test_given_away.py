"""What another has got meanwhile does not begin here: after a blocked event loop the store is asked, and heard."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from penstock import App, Context, State
from penstock.store.contract import GiveBackJobs, HeartbeatWorker, ReadSignals, Signals, StartJobs
from penstock.worker.claiming import ownership
from penstock.worker.claiming.ownership import Ownership
from penstock.worker.finishing.reporter import Reporter
from penstock.worker.liveness import watchdog
from tests.worker.running import PATIENCE_SECONDS, burst

NEVER = 1e9


def test_a_job_that_was_given_away_before_its_first_step_does_not_begin(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two begin at once, the first blocks the loop, and the second is next on it when it is given to others."""
    monkeypatch.setattr(watchdog, "LATE_SECONDS", NEVER)  # Nothing is told of starts before it is given away.
    blocks, asked, told = threading.Event(), threading.Event(), threading.Event()
    ran: list[tuple[str, int]] = []

    @app.job
    async def work(ctx: Context) -> None:
        ran.append((ctx.id, ctx.token))
        if len(ran) == 1:
            blocks.set()
            assert told.wait(PATIENCE_SECONDS)

    jobs = [work.enqueue(), work.enqueue()]

    def give_away() -> None:
        assert blocks.wait(PATIENCE_SECONDS)
        (worker,) = app.store.list_workers().wait()
        app.store.heartbeat_worker(HeartbeatWorker(worker.session)).wait()
        app.store.give_back_jobs(GiveBackJobs(0.0)).wait()
        monkeypatch.setattr(watchdog, "LATE_SECONDS", 0.0)

    start_jobs, mark_started_meanwhile = app.store.start_jobs, Reporter.mark_started_meanwhile

    def asking(params: StartJobs) -> Any:
        if blocks.is_set():
            asked.set()
        return start_jobs(params)

    def telling(reporter: Reporter) -> None:
        mark_started_meanwhile(reporter)
        if asked.is_set():  # And the answer has been taken to heart.
            told.set()

    monkeypatch.setattr(app.store, "start_jobs", asking)
    monkeypatch.setattr(Reporter, "mark_started_meanwhile", telling)
    other = threading.Thread(target=give_away)
    other.start()
    burst(app, concurrency=2)
    other.join()
    assert [job.state() for job in jobs] == [State.COMPLETED] * 2
    tokens = [token for _, token in ran]
    assert ran[0][0] == jobs[0].id
    assert len([id for id, _ in ran if id == jobs[1].id]) == 1, "it ran where it had been given away, too"
    assert len(tokens) == len(set(tokens))


class AnsweringLate:
    """A store that is asked which jobs are lost. Its first answer lies there while the loop is blocked."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started: list[StartJobs] = []
        self.answers = [[], [7]]

    async def start_jobs(self, params: StartJobs) -> list[int]:
        self.started.append(params)
        return []

    async def read_signals(self, params: object) -> Signals:
        lost = self.answers.pop(0)
        if not lost:
            time.sleep(self.seconds)  # noqa: ASYNC251 — the block
        return Signals([], lost)


def test_what_comes_while_the_store_is_asked_is_asked_of_too() -> None:
    """The answer of a claim may have lain there for as long as the block, and be taken after the question was put."""
    questions: list[list[int]] = []
    held, settled, asking = [7], list[list[int]](), list[Ownership]()

    class Asked:
        async def read_signals(self, params: ReadSignals) -> Signals:
            questions.append(list(params.tokens))
            if len(questions) == 1:
                held.append(8)
                now = asyncio.get_running_loop().time()
                asking[0].take(now - 15.0, alone=False)
                assert asking[0].in_doubt(now)
            return Signals([], [token for token in params.tokens if token == 8])

    async def main() -> None:
        store: Any = Asked()
        asking.append(Ownership(store, lambda: (list(held), []), settled.append, lambda error: None))
        now = asyncio.get_running_loop().time()
        asking[0].take(now - 15.0, alone=True)
        assert asking[0].in_doubt(now)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not settled:
                await asyncio.sleep(0)

    asyncio.run(main())
    assert questions == [[7], [7, 8]]
    assert settled == [[8]]


def test_an_answer_that_is_old_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SURE_SECONDS", 0.05)
    store: Any = AnsweringLate(0.1)
    settled: list[list[int]] = []

    async def main() -> None:
        asking = Ownership(store, lambda: ([7, 8], [(7, 1)]), settled.append, lambda error: None)
        loop = asyncio.get_running_loop()
        asking.take(loop.time() - 1.0, alone=True)
        assert asking.in_doubt(loop.time())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not settled:
                await asyncio.sleep(0)
        assert not asking.in_doubt(loop.time())

    asyncio.run(main())
    assert settled == [[7]]
    assert store.started == [StartJobs([(7, 1)])] * 2, "the store knows that the next ones begin"
