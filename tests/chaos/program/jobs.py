"""The app of a chaos worker: the handlers of the load, and those that do harm themselves.

A handler tells the history when it begins, works for some milliseconds, and leaves an effect: a row in a table beside
the jobs. Those whose effect must be exact complete in the transaction of that row.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from penstock import Context, Fixed, Workflow
from penstock.client.client import Client
from penstock.store.contract import Claim, NewWorkflow, Transaction
from tests.chaos.load import BACKOFF_SECONDS, MS_MIN, PATIENT_ATTEMPTS, SCHEDULE
from tests.chaos.program.crashes import CRASHED
from tests.chaos.program.outfit import is_child, log, new_app, points, role

app = new_app()


def begin(ctx: Context) -> None:
    log.run(ctx.id, ctx.token, ctx.attempt)


def leave_effect(tx: Transaction, ctx: Context) -> None:
    tx.execute(f"INSERT INTO {role.effects} (job, token) VALUES (?, ?)", (ctx.id, ctx.token))


def told_effect(ctx: Context) -> None:
    log.effect(ctx.id, ctx.token)


@app.job
async def plain(ctx: Context, ms: int) -> int:
    """Effect and completion are two transactions: the effect may happen more than once."""
    begin(ctx)
    await asyncio.sleep(ms / 1000)
    points.passed("before effect")
    async with app.atransaction() as tx:
        leave_effect(tx, ctx)
    told_effect(ctx)
    points.passed("after effect")
    return ms


@app.job
async def exact(ctx: Context, ms: int) -> None:
    """Effect and completion are one transaction."""
    begin(ctx)
    await asyncio.sleep(ms / 1000)
    async with app.atransaction() as tx:
        leave_effect(tx, ctx)
        await ctx.afinish_in(tx, ms)
        points.passed("in the transaction")
    told_effect(ctx)
    points.passed("after the transaction")


@app.job
def exact_thread(ctx: Context, ms: int) -> None:
    """The same in a thread."""
    begin(ctx)
    time.sleep(ms / 1000)
    with app.transaction() as tx:
        leave_effect(tx, ctx)
        ctx.finish_in(tx, ms)
        points.passed("in the transaction")
    told_effect(ctx)
    points.passed("after the transaction")


@app.job
async def shaky(ctx: Context, ms: int) -> int:
    """Fails at first."""
    begin(ctx)
    await asyncio.sleep(ms / 1000)
    if ctx.attempt == 1:
        raise ConnectionError("shaky by nature")
    return ms


@app.job
async def broken(ctx: Context, ms: int) -> None:
    """Fails always."""
    begin(ctx)
    await asyncio.sleep(ms / 1000)
    raise ValueError("broken by nature")


@app.job(attempts=PATIENT_ATTEMPTS, backoff=Fixed(BACKOFF_SECONDS))
async def tick(ctx: Context) -> None:
    """Enqueued by the clock. What was missed comes once: a clock that leaps ahead would flood the store."""
    begin(ctx)


app.schedule(SCHEDULE, job=tick.bind(), every="1s", misfire="once")


class KnownWorkflow(Workflow):
    """One whose jobs have the ids that the load knows."""

    def __init__(self, client: Client, name: str, ids: Sequence[str]) -> None:
        super().__init__(client, name)
        self._ids = ids

    def planned(self, parent: Claim | None = None) -> NewWorkflow:
        new, left = super().planned(parent), iter(self._ids)
        steps = [replace(step, jobs=tuple(replace(job, id=next(left)) for job in step.jobs)) for step in new.steps]
        return replace(new, steps=tuple(steps))


@app.job
async def maker(ctx: Context, ids: list[str]) -> None:
    """Makes a workflow of jobs with these ids, of which the last gathers the results of the others."""
    begin(ctx)
    flow = KnownWorkflow(app.client, "made", ids)
    backoff = Fixed(BACKOFF_SECONDS)
    *many, last = [plain.using(attempts=PATIENT_ATTEMPTS, backoff=backoff).bind(ms=MS_MIN) for _ in ids]
    flow.step(many, name="many")
    flow.step(last, after="many")
    ctx.enqueue(flow)


@app.job
async def quick(ctx: Context) -> None:
    """Does nothing."""
    begin(ctx)


@app.job
async def echo(ctx: Context, value: Any) -> None:
    """Takes whatever JSON can say."""
    begin(ctx)


@app.job
async def killer(ctx: Context) -> None:
    """Takes its worker along, or its own process once it has one."""
    begin(ctx)
    if not is_child:
        log.killed(role.name)
    os._exit(CRASHED)


@app.job
async def blocker(ctx: Context, seconds: float) -> None:
    """Does what no async handler should do."""
    begin(ctx)
    time.sleep(seconds)  # noqa: ASYNC251 — blocking the event loop is the fault


@app.job(runner="process")
def crunch(ctx: Context, ms: int) -> int:
    """In a child process, which has no store: it tells nothing."""
    time.sleep(ms / 1000)
    return ms


@app.job(runner="process")
def crash_child(ctx: Context, signal_number: int) -> None:
    """Its own process dies: by a segmentation fault, or killed as by a system without memory."""
    os.kill(os.getpid(), signal.Signals(signal_number))
    time.sleep(60)
