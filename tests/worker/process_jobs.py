"""Jobs that run in child processes: these import this module, so what a test declares itself would be unknown to them.

The lifespan writes into the file that PROCESS_JOBS_DIARY names, if any.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock
from penstock import (
    App,
    BatchContext,
    Context,
    DoNotRetry,
    Failed,
    Fixed,
    Handler,
    Snooze,
    Tenant,
    UsageError,
    current,
)
from penstock.engines import open_store
from penstock.system.clock import SystemClock


def note(*words: object) -> None:
    """A line in the diary, in one write."""
    if diary := os.environ.get("PROCESS_JOBS_DIARY"):
        with open(diary, "ab", buffering=0) as file:
            file.write((" ".join(map(str, words)) + "\n").encode())


def entries(diary: Path, first: str) -> list[list[str]]:
    """The lines of the diary that begin with this word, without it."""
    lines = (line.split() for line in diary.read_text().splitlines())
    return [words[1:] for words in lines if words[0] == first]


def opened(gate: str) -> bool:
    """A gate is a file that a test makes."""
    return Path(gate).exists()


@asynccontextmanager
async def lifespan() -> AsyncIterator[dict[str, int]]:
    note("enter", os.getpid())
    yield {"pid": os.getpid()}
    note("leave", os.getpid())


app = App("sqlite:///never-opened.db", lifespan=lifespan)
"""Tests put a store of their own in place of this one."""


@contextmanager
def store_in(folder: Path) -> Iterator[App]:
    """The app on a store in this folder."""
    clock = SystemClock()
    store = open_store(f"sqlite:///{folder}/jobs.db", clock=clock, random=random.random)
    try:
        with app._in_place(store, clock):
            yield app
    finally:
        store.close()


class BrokenText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("str() is broken")


def plain(value: Any) -> Any:
    """No job of this app."""
    return value


# Well-behaved


@app.job(runner="process", attempts=1)
def echo(value: Any) -> Any:
    return value


@app.job(runner="process", attempts=1)
async def echo_async(ctx: Context, value: Any) -> Any:
    await asyncio.sleep(0)
    assert penstock.current().id == ctx.id
    return value


@app.job(runner="process", attempts=1)
def pid_of(ctx: Context) -> list[int]:
    return [os.getpid(), ctx.resources["pid"]]


@app.job(runner="process", attempts=1, timeout="1m")
def deadline_of(ctx: Context) -> float | None:
    return None if ctx.deadline is None else ctx.deadline.timestamp() - time.time()


@app.job(runner="process", attempts=2, backoff=Fixed(0))
def wait_for(ctx: Context, gate: str) -> list[int]:
    """Says that it is there, and goes on when the file exists."""
    note("waits", os.getpid())
    while not opened(gate):
        time.sleep(0.005)
    return [ctx.attempt, os.getpid()]


@app.job(runner="process", attempts=1)
def follow_up(ctx: Context, fail: bool) -> None:
    call = echo.using(priority=7, delay="1h", tenant=Tenant("acme", "eu"), tags=["a", "b"]).bind("later")
    ctx.enqueue(call)
    ctx.enqueue(echo.bind("now"))
    if fail:
        raise ValueError("then both are not")


@app.job(runner="process", attempts=1)
def flood(ctx: Context, reports: int) -> None:
    for number in range(reports):
        ctx.report(number * 100 / reports)
    ctx.report(100, phase="last")


@app.job(runner="process", attempts=1)
def two_reports(ctx: Context, gate: str) -> None:
    ctx.report(1, phase="first")
    ctx.report(2, phase="second")
    while not opened(gate):
        time.sleep(0.005)


@app.job(runner="process", attempts=1)
def hog(size: int) -> int:
    keep.append(b"x" * size)
    return os.getpid()


keep: list[bytes] = []


@dataclass
class Page:
    url: str
    links: list[str]


@app.job(runner="process", attempts=1)
def crawl(url: str, links: list[str]) -> Any:
    return Page(url, links)


crawl.then(lambda page: [echo.bind(link) for link in page.links])
crawl.then(lambda page: echo.bind(current().id), when=lambda page: page.url.split("://")[1].endswith("/id"))


@app.batch_job(size=2, wait="10s", runner="process", attempts=1)
def shorten(items: list[str]) -> list[str | Failed]:
    return [Failed("empty") if not item else item[:1] for item in items]


shorten.then(echo, when=lambda short: short != "x")


@app.job(runner="process", attempts=1)
def pay(ctx: Context, url: str) -> None:
    """Completes itself in a transaction of its own, on a store of this process."""
    shop = app._store = open_store(url, clock=SystemClock(), random=random.random)
    with shop.transaction() as tx:
        ctx.finish_in(tx, "paid")
    shop.close()


pay.then(echo)


@app.job(runner="process", attempts=1)
def pay_and_go_on(ctx: Context, url: str, until: str) -> None:
    """Completes itself, and has something left to do."""
    shop = app._store = open_store(url, clock=SystemClock(), random=random.random)
    with shop.transaction() as tx:
        ctx.finish_in(tx, {"paid": 7})
    while not Path(until).exists():
        time.sleep(0.01)
    shop.close()


@app.job(runner="process", attempts=1)
def wait_in_child(url: str, job_id: str) -> str:
    shop = App(url)
    try:
        result: str = shop.get(job_id).result(timeout=30)
    except UsageError as error:
        return str(error)
    finally:
        shop.close()
    return result


# Failing


@app.redact
def hide_code_names(text: str) -> str:
    return text.replace("orion", "[a project]")


@app.job(runner="process", attempts=1)
def fail_with_text(text: str) -> None:
    raise ValueError(text)


@app.job(runner="process", attempts=1)
def fail_with(kind: str) -> None:
    raise {
        "SystemExit": SystemExit(3),
        "KeyboardInterrupt": KeyboardInterrupt(),
        "BrokenText": BrokenText(),
        "DoNotRetry": DoNotRetry("no"),
    }[kind]


@app.job(runner="process", attempts=1)
async def fail_async(kind: str) -> None:
    fail_with(kind)


@app.job(runner="process", attempts=1, snoozes=2)
def put_off(ctx: Context, times: int) -> int:
    if ctx.snoozes < times:
        raise Snooze(0, "of orion")
    return ctx.snoozes


@app.job(runner="process", attempts=1)
async def fail_in_task() -> None:
    async def leave() -> None:
        sys.exit(3)

    await asyncio.create_task(leave())


@app.job(runner="process", attempts=1)
def recurse() -> None:
    recurse()


@app.job(runner="process", attempts=3)
def odd_result(kind: str) -> Any:
    return {"object": object(), "large": "x" * 2**20, "surrogate": "\ud800"}[kind]


# Dying


@app.job(runner="process", attempts=2, backoff=Fixed(0))
def die_first(ctx: Context, number: int) -> int:
    if ctx.attempt == 1:
        os.kill(os.getpid(), number)
    return ctx.attempt


@app.job(runner="process", attempts=1)
def exit_hard(code: int) -> None:
    os._exit(code)


@app.job(runner="process", attempts=1)
def close_files() -> None:
    os.closerange(3, 4096)


@app.job(runner="process", attempts=1)
def die_beside_a_holder() -> None:
    """Leaves a process behind, out of reach of a kill of what it started, that holds the socket to the worker open."""
    held = int(sys.argv[1])
    os.set_inheritable(held, True)
    sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
    holder = subprocess.Popen(sleep, pass_fds=[held], start_new_session=True, env={})
    note("holder", holder.pid)
    os.kill(os.getpid(), signal.SIGKILL)


# Misbehaving


@app.job(runner="process", attempts=1)
def fork_and_return() -> str:
    forked = os.fork()
    if forked == 0:
        return "the forked process"
    os.waitpid(forked, 0)
    return "the child"


@app.job(runner="process", attempts=1)
def report_from_a_fork(ctx: Context) -> None:
    ctx.report(1, phase="the child")
    forked = os.fork()
    if forked == 0:
        ctx.report(2, phase="the forked process")
        os._exit(0)
    os.waitpid(forked, 0)


@app.job(runner="process", attempts=1)
def print_rubbish() -> None:
    for number in (1, 2):
        os.write(number, bytes(range(256)) * 16)


@app.job(runner="process", attempts=1)
def leave_thread() -> int:
    threading.Thread(target=time.sleep, args=(60,)).start()
    return os.getpid()


@app.job(runner="process", attempts=1)
def report_after_the_end(ctx: Context) -> None:
    def talk() -> None:
        while True:
            ctx.report(13, phase="too late")
            time.sleep(0.01)

    threading.Thread(target=talk, daemon=True).start()


@app.job(runner="process", attempts=1, timeout="300ms")
def stubborn(kind: str) -> None:
    """Takes longer than it may, in a way that only a kill ends."""
    note("stubborn", os.getpid())
    if kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if kind == "masked":
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    if kind == "ignoring":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    while True:
        pass


@app.job(runner="process", attempts=1)
def never_end() -> None:
    """Runs until it is killed, and has started a process that would too."""
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    note("runs", os.getpid(), grandchild.pid)
    while True:
        pass


SLEEP = [sys.executable, "-c", "import time; time.sleep(300)"]


def start_sleep(how: str) -> None:
    """Start a process that would outlive this one, and write its number down."""
    if how == "daemon":
        twice = f"import os, subprocess; os.fork() and os._exit(0); print(subprocess.Popen({SLEEP!r}).pid, flush=True)"
        starter = subprocess.Popen([sys.executable, "-c", twice], stdout=subprocess.PIPE, start_new_session=True)
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
    else:
        pid = subprocess.Popen(SLEEP, start_new_session=how == "session").pid
    note("started", pid)


@app.job(runner="process", attempts=1)
def start_and(how: str, then: str) -> int:
    start_sleep(how)
    if then == "wait":
        time.sleep(300)
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


# Batches


@app.batch_job(size=4, wait="10s", runner="process", attempts=1)
def halve(items: list[int]) -> list[float | Failed]:
    return [Failed(f"{item} is odd") if item % 2 else item / 2 for item in items]


@app.batch_job(size=3, wait="10s", runner="process", attempts=2, backoff=Fixed(0))
async def gather(ctx: BatchContext, items: list[str]) -> list[int]:
    """One item is a gate; another may be a signal that kills the process of the first call."""
    note("gathered", os.getpid(), len(items))
    for job, item in zip(ctx.jobs, items, strict=True):
        job.report(50, phase=item)
        if item == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        while item.startswith("/") and not opened(item):
            await asyncio.sleep(0.005)
    return [len(items)] * len(items)


# Hooks


@dataclass
class Order:
    how: str


class Hooked(Handler[Order, str]):
    """Its hooks are called in the worker, where tests look at what they heard."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def process(self, ctx: Context, data: Order) -> str:
        ctx.report(50, phase="half")
        if data.how == "raise":
            raise ValueError("it raised")
        if data.how == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"done in {os.getpid()}"

    def is_retryable(self, error: BaseException) -> bool:
        note("is_retryable", os.getpid(), type(error).__name__)
        return False

    async def on_start(self, ctx: Context) -> None:
        self.heard.append(("start", os.getpid()))

    async def on_progress(self, ctx: Context, progress: penstock.Progress) -> None:
        self.heard.append(("progress", progress.percent))

    async def on_complete(self, ctx: Context, result: str) -> None:
        self.heard.append(("complete", result))

    async def on_failed(self, ctx: Context, error: BaseException) -> None:
        self.heard.append(("failed", error))


hooks = Hooked()
hooked = app.register(hooks, name="hooked", runner="process", attempts=1)


@app.job(runner="process", attempts=1)
def makes_a_workflow(ctx: Context, count: int) -> None:
    flow = app.workflow("made-apart")
    many = flow.step([echo.bind(number) for number in range(count)])
    flow.step(echo.bind("last"), name="last", after=many)
    ctx.enqueue(flow)
