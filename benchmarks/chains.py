"""Figures about the clock and the chains, on an empty store of your own. Alone on the machine.

python benchmarks/chains.py punctual sqlite:///clock.db    how late the jobs of 1,000 schedules begin
python benchmarks/chains.py due sqlite:///due.db           100,000 jobs due within one second, or --ready
python benchmarks/chains.py fan-in sqlite:///flow.db       a workflow of 10,000 jobs and one that gathers, or --bare
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from datetime import UTC, datetime, timedelta

from penstock import App, Context
from penstock.program.loop import event_loop
from penstock.store.contract import ListJobs

SCHEDULES, EVERY_SECONDS, WATCHED_SECONDS = 1_000, 10, 40
DUE, AHEAD_SECONDS, MOMENTS = 100_000, 15, 100
FANNED_OUT = 10_000


def declared(address: str) -> App:
    app = App(address)

    @app.job
    async def noop(number: int = 0) -> int:
        return number

    @app.job
    async def total(ctx: Context) -> int:
        return sum(await ctx.aresults("noop"))

    app.store.migrate()
    return app


def call(app: App, name: str, number: int | None = None, **options: object):
    return app.client.call_by_name(name, {} if number is None else {"number": number}, options, {})


def run(app: App, seconds: float | None = None) -> float:
    """Until nothing is left, or for so many seconds; how long it took."""

    async def main() -> None:
        worker = asyncio.ensure_future(app.run_worker(burst=seconds is None))
        await asyncio.wait({worker}, timeout=seconds)
        worker.cancel()
        await asyncio.wait({worker})

    begun = time.perf_counter()
    with event_loop() as runner:
        runner.run(main())
    return time.perf_counter() - begun


def all_jobs(app: App):
    before = None
    while page := app.store.list_jobs(ListJobs(limit=2_000, before=before)).wait():
        yield from page
        before = page[-1].id


def punctual(app: App) -> None:
    """Begun at random within ten seconds, so that 100 a second are due."""
    dice, now = random.Random(1), datetime.now(UTC)
    for number in range(SCHEDULES):
        start = now + timedelta(seconds=10 + EVERY_SECONDS * dice.random())
        app.schedules.add(f"s{number}", job=call(app, "noop"), every=f"{EVERY_SECONDS}s", start=start)
    run(app, WATCHED_SECONDS)
    late = sorted((job.started_at - job.due_at).total_seconds() * 1000 for job in all_jobs(app) if job.started_at)
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    print(f"{len(late):,} jobs; p50 {p50:.1f} ms, p99 {p99:.1f} ms, the latest {late[-1]:.1f} ms")


def due(app: App, ready: bool) -> None:
    """The rate from when the first is due. Of those that are due, the last comes a second later: it counts in both."""
    begin = datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS)
    moments = [begin + timedelta(seconds=number / MOMENTS) for number in range(MOMENTS)]
    calls = [call(app, "noop", 0, **({} if ready else {"at": moments[number % MOMENTS]})) for number in range(MOMENTS)]
    app.enqueue_many(one for one in calls for _ in range(DUE // MOMENTS))

    async def main() -> float:
        worker = asyncio.ensure_future(app.run_worker())
        begun = time.time() if ready else begin.timestamp()
        while any(one.state != "completed" for one in await app.store.count_jobs()):
            await asyncio.sleep(max(0.1, begun + 1 - time.time()))
        took = time.time() - begun
        worker.cancel()
        await asyncio.wait({worker})
        return took

    with event_loop() as runner:
        took = runner.run(main())
    print(f"{'ready' if ready else 'due within a second'}: {DUE / took:,.0f}/s")


def fan_in(app: App, bare: bool) -> None:
    calls = [call(app, "noop", number) for number in range(FANNED_OUT)]
    begun = time.perf_counter()
    if bare:
        app.enqueue_many(calls)
    else:
        flow = app.workflow("fan-in")
        flow.step(call(app, "total"), after=flow.step(calls))
        flow.enqueue()
    enqueued = time.perf_counter() - begun
    print(f"{'bare' if bare else 'workflow'}: enqueued in {enqueued:.2f} s, run in {run(app):.2f} s")


def main(words: list[str]) -> None:
    logging.disable(logging.WARNING)
    if len(words) < 2 or words[0] not in ("punctual", "due", "fan-in"):
        sys.exit(__doc__)
    app = declared(words[1])
    if words[0] == "punctual":
        punctual(app)
    elif words[0] == "due":
        due(app, "--ready" in words)
    else:
        fan_in(app, "--bare" in words)
    app.close()


if __name__ == "__main__":
    main(sys.argv[1:])
