"""A program that interrupts its own plain calls, again and again, and looks after each what became of the process.

CPython runs a signal's handler in the main thread when a function begins, when a loop goes round, when a call has
returned, and in calls of C that wait. walk() lets a signal come before one opcode of a call after the other, so that
each of these moments is met. Every step ends within a bound, or the program says where each thread is and ends itself.

    python -m tests.e2e.interrupted ADDRESS CALL:HOW:STEPS …

HOW is walk (one signal for each call), kept (the same, and what the handler raises has to come out of the call as it
is), again (several), signals (real ones, at moments drawn by lot), cancel (for async calls) or behind. After `follow`,
a thread enqueues all the time. `seed:NUMBER` is for what is drawn by lot. `without:NAME` takes a safeguard of
penstock/store/interrupts.py away: whatever comes after it must fail.
"""

from __future__ import annotations

import asyncio
import dis
import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from _thread import interrupt_main
from collections.abc import Callable, Coroutine, Generator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from penstock import App
from penstock.domain.errors import UnknownJob
from penstock.store import interrupts as safeguards

STEP_SECONDS = 20.0
FILES_MAX = 5
"""How many more may be open at the end: the pool of connections is full then, and the thread beside has one in hand."""
SIGNAL = signal.SIGALRM
TIMES_MAX = 6
LOOKS = {dis.opmap[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD") if name in dis.opmap}
PACKAGES = ("penstock", "interrupt", "psycopg", "contextlib.py", "threading.py", "queue.py")


class Interrupted(Exception):
    """What the handler of a signal raises, as a request's timeout would."""


class WrongValue(Interrupted, ValueError):
    """One that looks like what libraries raise for a value that they refuse."""


class TooLate(Interrupted, TimeoutError):
    """One that looks like an error of the system."""


@cache
def opcodes(code: CodeType) -> bytes:
    return code.co_code


class Interrupts:
    """Lets signals come while a call is made."""

    def __init__(self, kind: type[Interrupted] = Interrupted) -> None:
        self._kind = kind
        self.came_out: type[Exception] | None = None
        """Not the exception itself: who keeps that keeps the transaction of a block that was left by it."""
        self._armed = False
        self._trace: Callable[[FrameType, str, object], Any] | None = None
        self.raised = 0
        self.seen = 0
        signal.signal(SIGNAL, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        if self._armed:
            self.raised += 1
            if self.raised < TIMES_MAX:
                sys.settrace(self._trace)
            raise self._kind

    def during(self, work: Callable[[], object], first: int, gap: int | None = None) -> bool:
        """Whether the work ended before a signal came: before the step with the number `first` at which the interpreter
        looks for signals, and if there is a `gap`, again and again after so many more of them.
        """
        self.seen = self.raised = 0
        self.came_out = None
        due = first
        trip = (SIGNAL,)

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal due
            if event == "call":
                if not any(name in frame.f_code.co_filename for name in PACKAGES):
                    return None
                frame.f_trace_opcodes, frame.f_trace_lines = True, False
            elif event == "opcode" and opcodes(frame.f_code)[frame.f_lasti] in LOOKS:
                self.seen += 1
                if self.seen == due:
                    due += gap or 10**9
                    sys.settrace(None)  # Or the next call of this function would notice the signal, not the work.
                    [*map(interrupt_main, trip)]  # Not a call of this function, after which it would look itself.
            return trace

        self._trace = trace
        self._armed = True
        sys.settrace(trace)
        try:
            work()
        except Exception as error:
            self.came_out = type(error)
            if not self.raised:
                raise
        finally:
            self._armed = False
            sys.settrace(None)
        return not self.raised

    def soon(self, work: Callable[[], object], seconds: float) -> bool:
        """The same with a real signal, after so many seconds."""
        self.raised = 0
        self._armed = True
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            work()
        except Exception:
            if not self.raised:
                raise
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return not self.raised


OTHER = """
import sys
from penstock import App
app = App(sys.argv[1])
for line in sys.stdin:
    app.enqueue("task", {"number": 0})
    print("stored", flush=True)
"""


class Program:
    def __init__(self, address: str) -> None:
        self.address = address
        self.seed = ""
        self.app = app = App(address)

        @app.job(name="task")
        def task(number: int) -> None: ...

        self.task = task
        self.kept = task.enqueue(0)
        self.ids: list[str] = []
        self.turns = 0
        self.turned = threading.Event()
        command = [sys.executable, "-c", OTHER, address]
        self.other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    # What is interrupted. Each says which jobs it makes before it does.

    def new_ids(self, count: int) -> list[str]:
        self.ids = [str(uuid.uuid4()) for _ in range(count)]
        return self.ids

    def enqueue(self) -> None:
        self.task.using(id=self.ids[0]).enqueue(1)

    def many(self) -> None:
        self.app.enqueue_many(self.task.using(id=id).bind(2) for id in self.ids)

    def transaction(self) -> None:
        with self.app.transaction() as tx:
            for id in self.ids:
                self.task.using(id=id, conn=tx).enqueue(3)

    def read(self) -> None:
        self.kept.state()

    def cancel(self) -> None:
        self.kept.cancel()

    def pause(self) -> None:
        self.app.pause_queue("default", reason="test", by="test")

    async def aenqueue(self) -> None:
        await self.task.using(id=self.ids[0]).aenqueue(1)

    async def atransaction(self) -> None:
        async with self.app.atransaction() as tx:
            for id in self.ids:
                await self.task.using(id=id, conn=tx).aenqueue(3)

    # What has to hold afterwards

    def is_stored(self, id: str) -> bool:
        try:
            return self.app.get(id).id == id
        except UnknownJob:
            return False

    def look(self, returned: bool) -> None:
        """All of it is stored or nothing, all if the call has returned; everybody can go on."""
        self.ask_other()
        ends = time.monotonic() + STEP_SECONDS
        while len(set(stored := [self.is_stored(id) for id in self.ids])) > 1:
            # What was handed to another thread may be stored while this looks, though not in parts.
            assert time.monotonic() < ends, f"some were stored and some were not: {stored}"
        assert not returned or all(stored), f"the call returned, and stored {stored}"
        again = [self.task.using(id=id).enqueue(9).created for id in self.ids]
        assert not any(stored) or not any(again), "stored twice"
        assert all(map(self.is_stored, self.ids)), "a retry did not store it"
        with self.app.transaction() as tx:
            self.task.using(conn=tx).enqueue(4)
        self.kept.state()
        thread = threading.Thread(target=self.task.enqueue, args=(5,), daemon=True)
        thread.start()
        thread.join(STEP_SECONDS)
        assert not thread.is_alive(), "another thread cannot enqueue"
        if self.turns:
            self.turned.clear()
            assert self.turned.wait(STEP_SECONDS), "the thread that enqueues all the time hangs"

    def ask_other(self) -> None:
        assert self.other.stdin is not None
        assert self.other.stdout is not None
        self.other.stdin.write("\n")
        self.other.stdin.flush()
        assert self.other.stdout.readline() == "stored\n", "another process cannot write"

    def follow(self) -> None:
        """A thread that enqueues all the time: calls that are interrupted wait for it, and it for them."""

        def run() -> None:
            while True:
                self.task.enqueue(6)
                self.turns += 1
                self.turned.set()

        threading.Thread(target=run, daemon=True).start()
        assert self.turned.wait(STEP_SECONDS)


def jobs_of(call: str) -> int:
    return {"enqueue": 1, "aenqueue": 1, "many": 3, "transaction": 2, "atransaction": 2}.get(call, 0)


def walk(
    program: Program, call: str, steps: int, again: random.Random | None, kept: type[Interrupted] | None = None
) -> int:
    """As many moments as `steps` allows, evenly spread; all of them if it is 0. How many calls were interrupted."""
    interrupts, count = Interrupts(kept or Interrupted), jobs_of(call)
    for _ in range(2):  # The second time everything is there that is made at first use.
        program.new_ids(count)
        interrupts.during(getattr(program, call), 10**9)
    stride = interrupts.seen / steps if steps else 0
    moment, interrupted = 1.0, 0
    while True:
        faulthandler.dump_traceback_later(STEP_SECONDS, exit=True)
        program.new_ids(count)
        returned = interrupts.during(getattr(program, call), int(moment), again.randint(1, 12) if again else None)
        if kept is None:
            program.look(returned)
        elif not returned:
            assert interrupts.came_out is kept, f"moment {int(moment)}: {interrupts.came_out} came out"
        if returned:
            return interrupted
        interrupted += 1
        moment += max(1, stride)


def signals(program: Program, call: str, steps: int, seeded: random.Random) -> int:
    interrupts, count, interrupted = Interrupts(), jobs_of(call), 0
    began = time.perf_counter()
    for _ in range(20):
        program.new_ids(count)
        getattr(program, call)()
    usual = (time.perf_counter() - began) / 20
    for _ in range(steps):
        faulthandler.dump_traceback_later(STEP_SECONDS, exit=True)
        program.new_ids(count)
        returned = interrupts.soon(getattr(program, call), seeded.uniform(1e-6, usual * 1.2))
        program.look(returned)
        interrupted += not returned
    return interrupted


class CancelledAt:
    """Awaits a coroutine, and cancels its own task when it waits for the n-th time."""

    def __init__(self, work: Coroutine[Any, Any, None], number: int) -> None:
        self._work = work
        self._rest = number

    def __await__(self) -> Generator[Any, Any, None]:
        waiting = self._work.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                future = waiting.throw(error) if error else waiting.send(value)
            except StopIteration:
                return
            self._rest -= 1
            if not self._rest:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            value = error = None
            try:
                value = yield future
            except BaseException as raised:
                error = raised


def cancel(program: Program, call: str) -> int:
    """Cancelled at each moment at which it waits, one after the other."""

    async def main(number: int) -> bool:
        async def work() -> None:
            await CancelledAt(getattr(program, call)(), number)

        await getattr(program, call)()  # The connections of this loop are there.
        program.new_ids(jobs_of(call))
        try:
            await asyncio.create_task(work())
        except asyncio.CancelledError:
            return False
        return True

    number = 0
    while True:
        faulthandler.dump_traceback_later(STEP_SECONDS, exit=True)
        number += 1
        program.new_ids(jobs_of(call))
        returned = asyncio.run(main(number))
        settle(program)
        program.look(returned)
        if returned:
            return number - 1


def settle(program: Program) -> None:
    """What a cancelled task had handed over is carried out without it: wait until it has been."""
    with program.app.transaction() as tx:
        program.task.using(conn=tx).enqueue(7)


def behind(program: Program) -> int:
    """Interrupted while it waits for the enqueue of another thread, which waits for another program."""
    interrupts, (id,) = Interrupts(), program.new_ids(1)
    begun, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with App(program.address) as app, app.transaction() as tx:
            program.task.using(id=id, conn=tx).enqueue(8)
            begun.set()
            enough.wait(STEP_SECONDS)

    threads = [threading.Thread(target=hold, daemon=True)]
    threads.append(threading.Thread(target=program.task.using(id=id).enqueue, args=(8,), daemon=True))
    threads[0].start()
    assert begun.wait(STEP_SECONDS)
    threads[1].start()
    while interrupts.soon(lambda: program.task.enqueue(1), 0.3):
        pass  # It came before the thread.
    enough.set()
    for thread in threads:
        thread.join(STEP_SECONDS)
        assert not thread.is_alive(), "a thread that was waited for hangs"
    program.look(True)
    return 1


def do(program: Program, call: str, how: str, steps: int) -> int:
    seeded = random.Random(f"{call} {how} {program.seed}")
    faulthandler.dump_traceback_later(STEP_SECONDS, exit=True)
    if how == "behind":
        return behind(program)
    if how == "cancel":
        return cancel(program, call)
    if how == "signals":
        return signals(program, call, steps, seeded)
    if how == "kept":
        # Of an error of the system psycopg makes one of its own, in a few moments of connecting: it looks up names.
        kinds: list[type[Interrupted]] = [WrongValue] if "postgresql" in program.address else [WrongValue, TooLate]
        return sum(walk(program, call, steps, None, kind) for kind in kinds)
    return walk(program, call, steps, seeded if how == "again" else None)


def taken(held: list[Any], get: Callable[..., Any], *arguments: Any) -> Any:
    """As take() would be if nobody thought of interrupts; so is the next one."""
    got = get(*arguments)
    held.append(got)
    return got


def unclean(work: Callable[..., Any], clean: Callable[..., object], *arguments: Any) -> Any:
    return work(*arguments)


UNGUARDED = {"take": taken, "whole": unclean}


def leave_unguarded(name: str) -> None:
    """Everybody who uses the safeguard of this name uses another instead."""
    before = getattr(safeguards, name)
    for module in [module for found, module in sys.modules.items() if found.startswith("penstock.")]:
        if getattr(module, name, None) is before:
            setattr(module, name, UNGUARDED[name])


def main(address: str, *tasks: str) -> None:
    program = Program(address)
    interval, descriptors = sys.getswitchinterval(), open_files()
    for task in tasks:
        if task == "follow":
            program.follow()
        elif task.startswith("seed:"):
            program.seed = task
        elif task.startswith("without:"):
            leave_unguarded(task.partition(":")[2])
        else:
            call, how, steps = task.split(":")
            sys.stdout.write(f"{task} {do(program, call, how, int(steps))}\n")
            sys.stdout.flush()
    faulthandler.cancel_dump_traceback_later()
    assert open_files() <= descriptors + FILES_MAX, "files or connections were left open"
    if not program.turns:
        assert abs(sys.getswitchinterval() - interval) < 1e-6, "threads go on changing places quickly"
    assert program.other.stdin is not None
    program.other.stdin.close()
    program.other.wait(STEP_SECONDS)


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)  # The follower goes on for ever.
