"""A job that takes its worker along does so once: its next attempts run in a process of their own (F3)."""

from __future__ import annotations

import pytest

from penstock import App, State
from penstock.store.contract import ListJobs
from tests.e2e.processes import until
from tests.e2e.supervised import Supervised

HANDLERS = """
@app.job(attempts=3, backoff=Fixed(0.01))
def killer(ctx: Context) -> None:
    say("killer", ctx.attempt, os.getpid())
    os._exit(3)


@app.job(attempts=3, backoff=Fixed(0.01))
async def dies_once(ctx: Context, marker: str) -> str:
    say("dies_once", ctx.attempt, os.getpid())
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    await ctx.progress(50)
    receipt = await ctx.aonce("charge", lambda: f"charged {marker}")
    async with app.atransaction() as tx:
        await ctx.afinish_in(tx, receipt)
    return "ignored"


@app.job(attempts=9, backoff=Fixed(0.01))
async def neighbour(number: int) -> int:
    say("neighbour", os.getpid())
    await asyncio.sleep(0.05)
    return number
"""


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "WORKER_HEARTBEAT_INTERVAL": "300ms", "COORDINATOR_RECOVERY_INTERVAL": "100ms", "COORDINATOR_LEASE": "500ms",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"PENSTOCK_{name}", value)


def test_a_killer_takes_one_worker_along_and_then_only_itself(supervised: Supervised, app: App) -> None:
    worker = supervised.start(HANDLERS, "--processes", "2")
    worker.wait_for("started (pid", count=2)
    until(lambda: "killer" in app.store.read_types().wait(), "the types are declared")
    killer = app.enqueue("killer")
    neighbours = [app.enqueue("neighbour", {"number": number}) for number in range(20)]
    until(lambda: killer.state() is State.DEAD, "the killer has used its attempts")
    read = killer.read()
    assert (read.attempt, read.crashes, read.decided_by) == (3, 3, "worker")
    assert read.error is not None
    assert "exit code 3" in read.error.message
    assert [job.result(timeout=30) for job in neighbours] == list(range(20))
    died = {line.split()[2] for line in worker.lines if line.startswith("killer ")}
    workers = {pid for line in worker.printed("started (pid") for pid in died if f"started (pid {pid})" in line}
    assert len(died) == 3
    assert len(workers) == 1, "only the first attempt ran where others did at the same time"
    assert max(job.read().crashes for job in neighbours) <= 1, "it took them along once"
    worker.wait_for("crashed before: it runs in a process of its own", count=2)
    assert len(worker.printed("started (pid")) == 3, "one worker died and was replaced"


def test_a_killer_is_found_out_too_when_the_start_timeout_is_sooner_than_the_recovery(
    supervised: Supervised, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies before the store heard that it began; what is given back as never begun is no suspect."""
    for name, value in {
        "WORKER_HEARTBEAT_INTERVAL": "1s", "COORDINATOR_START_TIMEOUT": "1s",
        "COORDINATOR_START_CHECK_INTERVAL": "100ms",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"PENSTOCK_{name}", value)
    worker = supervised.start(HANDLERS, "--processes", "2")
    worker.wait_for("started (pid", count=2)
    until(lambda: "killer" in app.store.read_types().wait(), "the types are declared")
    killer = app.enqueue("killer")
    until(lambda: killer.state() is State.DEAD, "the killer has used its attempts")
    assert killer.read().crashes == 3
    assert len(worker.printed("started (pid")) == 3, "one worker died and was replaced"


def test_a_process_handler_can_complete_in_its_own_transaction(supervised: Supervised, app: App) -> None:
    worker = supervised.start(
        """
        @app.job(runner="process")
        def books(ctx: Context, fails: bool) -> str:
            with app.transaction() as tx:
                ctx.finish_in(tx, f"booked by {os.getpid() != os.getppid()}")
            if fails:
                raise ValueError("after the commit")
            return "ignored"
        """
    )
    until(lambda: "books" in app.store.read_types().wait(), "the type is declared")
    jobs = [app.enqueue("books", {"fails": fails}) for fails in (False, True)]
    assert [job.result(timeout=30) for job in jobs] == ["booked by True"] * 2
    worker.wait_for("raised after its own transaction had completed the job")


def test_an_isolated_attempt_can_do_all_that_others_can(supervised: Supervised, app: App) -> None:
    worker = supervised.start(HANDLERS, "--processes", "2")
    worker.wait_for("started (pid", count=2)
    until(lambda: "dies_once" in app.store.read_types().wait(), "the types are declared")
    job = app.enqueue("dies_once", {"marker": "A-17"})
    assert job.result(timeout=30) == "charged A-17"
    read = job.read()
    assert (read.attempt, read.crashes) == (2, 1)
    assert read.progress is not None
    assert read.progress.percent == 50


def test_an_isolated_attempt_has_the_follow_ups_of_its_type(supervised: Supervised, app: App) -> None:
    """The function sees what the handler returned, in the child: the annotation says nothing of it."""
    supervised.start(
        """
        import dataclasses


        @dataclasses.dataclass
        class Receipt:
            number: int


        @app.job
        async def book(number: int) -> str:
            return f"booked {number}"


        @app.job(attempts=3, backoff=Fixed(0.01))
        async def sell(ctx: Context):
            if ctx.attempt == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return Receipt(7)


        sell.then(lambda receipt: book.bind(receipt.number))
        """,
        "--processes",
        "2",
    )
    until(lambda: "sell" in app.store.read_types().wait(), "the types are declared")
    job = app.enqueue("sell")
    assert job.result(timeout=30) == {"number": 7}
    assert job.read().crashes == 1
    (booked,) = app.store.list_jobs(ListJobs(type="book")).wait()
    assert (booked.parent, app.get(booked.id).result(timeout=30)) == (job.id, "booked 7")
