"""What the scripts of all Python contestants share: the payload, the marks that handlers leave, and the commands.

    run_NAME.py prepare          make the tables in the empty database, Redis or folder
    run_NAME.py one N WARM       enqueue N jobs one by one, after WARM that are not timed; prints the seconds
    run_NAME.py many N WARM      the same in calls of 1,000
    run_NAME.py produce N        enqueue N jobs 20 ms apart, each with the moment before its enqueue
    run_NAME.py work             say that it is ready, wait for a line, and work until ended

Only the standard library is imported here: each contestant has an environment of its own. contest.mjs is the same for
Node. All moments are of the monotonic clock, which the processes of a machine share.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POSTGRES = os.environ.get("CONTEST_POSTGRES", "")
REDIS = os.environ.get("CONTEST_REDIS", "")
DATA = Path(os.environ.get("CONTEST_DATA", "."))
MARKS = "CONTEST_MARKS"
CALL = 1000
GAP_SECONDS = 0.02
MARK = struct.Struct("=qqq")
"""First start, last start, number of starts."""

Payload = dict[str, Any]


def payload(sent: int = 0) -> Payload:
    """About 180 bytes of JSON. With the moment of its enqueue it is a probe of the pickup."""
    return {"sent": sent, "to": "someone@example.com", "subject": "hello", "body": "x" * 120}


# Marks


class Marks:
    """The handler starts of one process, in files of its own that the benchmark reads meanwhile."""

    def __init__(self, folder: Path) -> None:
        file = os.open(folder / f"marks.{os.getpid()}", os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, MARK.size)
        self._page = mmap.mmap(file, MARK.size)
        os.close(file)
        self._pickups = os.open(folder / f"pickups.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._first = 0
        self._count = 0

    def mark(self, now: int, sent: int) -> None:
        if sent:
            os.write(self._pickups, b"%d\n" % (now - sent))
        else:
            self._first = self._first or now
            self._count += 1
            MARK.pack_into(self._page, 0, self._first, now, self._count)


_marks: Marks | None = None
_turn = threading.Lock()


def mark(sent: int) -> None:
    """The first thing that every handler does, and the only one."""
    global _marks
    now = time.monotonic_ns()
    with _turn:
        if _marks is None:
            _marks = Marks(Path(os.environ[MARKS]))
        _marks.mark(now, sent)


def _forget() -> None:
    """A forked process has files of its own, and a lock that nobody holds."""
    global _marks, _turn
    _marks = None
    _turn = threading.Lock()


os.register_at_fork(after_in_child=_forget)


# Enqueueing


@dataclass(frozen=True)
class Producer:
    """How to enqueue one job, and many in one call where there is such a call."""

    one: Callable[[Payload], Any]
    many: Callable[[list[Payload]], Any] | None = None


def calls(count: int) -> Iterator[list[Payload]]:
    for begun in range(0, count, CALL):
        yield [payload() for _ in range(min(CALL, count - begun))]


def enqueue_plain(producer: Producer, command: str, count: int) -> float:
    """Seconds that it took."""
    bulks = list(calls(count)) if command == "many" else []
    begun = time.perf_counter()
    if command == "many":
        assert producer.many
        for bulk in bulks:
            producer.many(bulk)
    elif command == "one":
        for _ in range(count):
            producer.one(payload())
    else:
        for _ in range(count):
            producer.one(payload(time.monotonic_ns()))
            time.sleep(GAP_SECONDS)
    return time.perf_counter() - begun


async def enqueue_async(producer: Producer, command: str, count: int) -> float:
    """Seconds that it took; every call is awaited before the next."""
    bulks = list(calls(count)) if command == "many" else []
    begun = time.perf_counter()
    if command == "many":
        assert producer.many
        for bulk in bulks:
            await producer.many(bulk)
    elif command == "one":
        for _ in range(count):
            await producer.one(payload())
    else:
        for _ in range(count):
            await producer.one(payload(time.monotonic_ns()))
            await asyncio.sleep(GAP_SECONDS)
    return time.perf_counter() - begun


# Commands


def main_plain(
    *,
    producer: Callable[[], AbstractContextManager[Producer]],
    work: Callable[[], Any],
    prepare: Callable[[], Any] = lambda: None,
) -> None:
    """The commands of a contestant with plain functions."""
    command, count, warm = _command()
    if command == "prepare":
        prepare()
    elif command == "work":
        _wait_for_the_word()
        work()
    else:
        with producer() as to:
            enqueue_plain(to, command, warm)
            print(enqueue_plain(to, command, count), flush=True)


def main_async(
    *,
    producer: Callable[[], AbstractAsyncContextManager[Producer]],
    work: Callable[[], Awaitable[Any]],
    prepare: Callable[[], Awaitable[Any]] | None = None,
) -> None:
    """The commands of a contestant with async functions, on uvloop."""
    import uvloop

    command, count, warm = _command()

    async def run() -> None:
        if command == "prepare":
            await (prepare() if prepare else asyncio.sleep(0))
        elif command == "work":
            await work()
        else:
            async with producer() as to:
                await enqueue_async(to, command, warm)
                print(await enqueue_async(to, command, count), flush=True)

    if command == "work":
        _wait_for_the_word()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def _command() -> tuple[str, int, int]:
    logging.disable(logging.WARNING)
    command, *numbers = sys.argv[1:]
    count, warm, *_ = (*map(int, numbers), 0, 0)
    return command, count, warm


def _wait_for_the_word() -> None:
    """Everything is imported. From here on the end of the benchmark ends this process, however that came."""
    (Path(os.environ[MARKS]) / f"ready.{os.getpid()}").touch()
    os.read(0, 1)
    threading.Thread(target=_end_with_the_benchmark, daemon=True).start()


def _end_with_the_benchmark() -> None:
    """Unbuffered, so that no lock is held when the contestant forks."""
    while os.read(0, 100):
        pass
    os.killpg(0, signal.SIGKILL)
