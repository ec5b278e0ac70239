"""The program that is simulated: job types whose handlers wait, fail, hang, die, follow each other and pay.

It is declared once; the process in which a handler runs is its resource (ctx.resources).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, Protocol

import msgspec

from penstock import App, BatchContext, Context, Exponential, Failed, Handler, JobCall, Resources, Workflow
from penstock.client.client import Client
from penstock.declare.jobtype import JobType
from penstock.store.contract import Transaction
from tests.simulation.features import make_item
from tests.simulation.names import NOWHERE

POISON = '{"seconds": "soon"}'
EFFECTS = "CREATE TABLE IF NOT EXISTS effects (job TEXT NOT NULL, token INTEGER NOT NULL)"
EFFECTS_READ = "SELECT job, token FROM effects ORDER BY rowid"
BACKOFF = Exponential(0.2, cap=1.0)
HAS = Resources(cpu=3)
"""What each worker has."""


class Host(Protocol):
    """The process in which the handlers run."""

    def begins(self, job: Context) -> None:
        """A handler was called for this job."""
        ...

    def told(self, job: Context, hook: str) -> None:
        """A hook was called: what it says must be stored."""
        ...

    def kill(self) -> None:
        """The process dies at once."""
        ...

    def transaction(self) -> AbstractContextManager[Transaction]: ...

    @property
    def client(self) -> Client: ...

    def wrong(self, what: str) -> None:
        """Something that a handler was told cannot be."""
        ...

    def uses(self, what: str, amount: int, most: float) -> AbstractContextManager[None]:
        """So much of something is in use in this process during the block, and there is no more of it than that."""
        ...


program = App("sqlite:///never-opened.db")


def _begin(ctx: Context) -> Host:
    host: Host = ctx.resources
    host.begins(ctx)
    return host


@program.job(attempts=4, backoff=BACKOFF, timeout=8.0)
async def work(ctx: Context, seconds: float, fails: int = 0) -> float:
    _begin(ctx)
    ctx.report(10)
    await asyncio.sleep(seconds)
    ctx.report(90, phase="nearly")
    if ctx.attempt <= fails:
        raise RuntimeError(f"attempt {ctx.attempt} fails")
    return seconds


@program.job(attempts=3, backoff=BACKOFF)
async def chain(ctx: Context, seconds: float, links: int, last: Sequence[str] = ()) -> None:
    """The last that follows has the features that are asked for."""
    _begin(ctx)
    await asyncio.sleep(seconds)
    if links > 0:
        ctx.enqueue(chain.bind(seconds=seconds, links=links - 1, last=last))
    elif last:
        item = make_item(Random(ctx.id), last)
        ctx.enqueue(bind(item.kind, item.args, item.options))
    else:
        ctx.enqueue(work.bind(seconds=seconds))


@program.job(attempts=3, backoff=BACKOFF)
async def deadly(ctx: Context, seconds: float, deaths: int) -> None:
    host = _begin(ctx)
    await asyncio.sleep(seconds)
    if ctx.attempt <= deaths:
        host.kill()
        await asyncio.get_running_loop().create_future()


@program.job(attempts=2, backoff=BACKOFF, timeout=0.5)
async def stubborn(ctx: Context, seconds: float) -> None:
    """Takes its time when it is told to stop."""
    _begin(ctx)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(seconds)
        raise


@program.job(attempts=4, backoff=BACKOFF)
async def pay(ctx: Context, seconds: float) -> None:
    """Its effect and its completion are one transaction."""
    host = _begin(ctx)
    await asyncio.sleep(seconds)
    with host.transaction() as tx:
        tx.execute("INSERT INTO effects (job, token) VALUES (?, ?)", (ctx.id, ctx.token))
        await ctx.afinish_in(tx)


@program.job(attempts=4, backoff=BACKOFF)
async def charge(ctx: Context, seconds: float, fails: int) -> None:
    """Its effect is outside of the store, and begun once."""
    _begin(ctx)
    await ctx.aonce("charge", lambda: asyncio.sleep(seconds, 1))
    if ctx.attempt <= fails:
        raise RuntimeError(f"attempt {ctx.attempt} fails after its effect")


@program.job(attempts=3, backoff=BACKOFF)
async def heavy(ctx: Context, seconds: float, cores: int) -> None:
    """Needs cores, of which its worker has only so many."""
    with _begin(ctx).uses("cpu", cores, HAS.cpu):
        await asyncio.sleep(seconds)


@program.job(attempts=3, backoff=BACKOFF, worker_concurrency=1)
async def lonely(ctx: Context, seconds: float) -> None:
    """Does not bear another of its kind in the same process."""
    with _begin(ctx).uses("lonely", 1, 1):
        await asyncio.sleep(seconds)


@program.job(attempts=2, backoff=BACKOFF, capability=NOWHERE, no_worker="fail")
async def rare(ctx: Context, seconds: float, fails: int) -> None:
    """Nobody can run it, and nobody waits for somebody who can."""
    _begin(ctx).wrong(f"job {ctx.id} was run by a worker that cannot")


@program.batch_job(size=4, wait=0.05, attempts=3, backoff=BACKOFF)
async def pack(ctx: BatchContext, items: list[int]) -> Sequence[int | Failed]:
    for job in ctx.jobs:
        _begin(job)
    await asyncio.sleep(0.01 * len(items))
    return [Failed(RuntimeError("odd")) if item % 7 == 3 else item for item in items]


class Step(msgspec.Struct):
    """What a careful job is given."""

    seconds: float
    fails: int = 0


@program.job(name="careful", attempts=3, backoff=BACKOFF)
class Careful(Handler[Step, float]):
    """Tells what became of it, and believes what it is told."""

    async def process(self, ctx: Context, data: Step) -> float:
        _begin(ctx)
        await asyncio.sleep(data.seconds)
        if ctx.attempt <= data.fails:
            raise RuntimeError(f"attempt {ctx.attempt} fails")
        return data.seconds

    async def on_start(self, ctx: Context) -> None:
        await asyncio.sleep(0.001)

    async def on_complete(self, ctx: Context, result: float) -> None:
        ctx.resources.told(ctx, "on_complete")

    async def on_failed(self, ctx: Context, error: BaseException) -> None:
        ctx.resources.told(ctx, "on_failed for good" if ctx.final else "on_failed")


@program.job(attempts=4, backoff=BACKOFF)
async def gather(ctx: Context, step: str, size: int) -> int:
    """Looks at what the jobs of a step before its own have returned."""
    host = _begin(ctx)
    found = await ctx.aresults(step)
    results = found if isinstance(found, list) else [found]
    if len(results) != size or not all(isinstance(one, float | Failed) for one in results):
        host.wrong(f"job {ctx.id} was told {results} of {size} jobs")
    return size


@program.job(attempts=4, backoff=BACKOFF)
async def spawn(ctx: Context, size: int, seconds: float) -> None:
    """Makes a workflow, which is stored with its own completion."""
    host = _begin(ctx)
    await asyncio.sleep(seconds)
    flow = Workflow(host.client, "spawned")
    flow.step([work.bind(seconds=seconds) for _ in range(size)], name="many")
    flow.step(gather.bind(step="many", size=size), after="many")
    ctx.enqueue(flow)


DECLARED: tuple[Any, ...] = (
    work,
    chain,
    deadly,
    stubborn,
    pay,
    charge,
    heavy,
    lonely,
    rare,
    pack,
    Careful,
    gather,
    spawn,
)
TYPES: dict[str, JobType[Any, Any, Any, Any]] = {one.name: one for one in DECLARED}


def bind(kind: str, args: dict[str, Any], options: dict[str, Any]) -> JobCall[Any]:
    """A call of one of the types; `poison` is a payload that no handler can read."""
    if kind == "poison":
        call: JobCall[Any] = work.using(**options).bind(seconds=0.0)
        return msgspec.structs.replace(call, payload=POISON)
    bound: JobCall[Any] = TYPES[kind].using(**options).bind(**args)
    return bound
