"""Child processes for handlers that compute: started ahead, one call at a time each, killed to stop, and replaced.

The worker's side; child.py is the other. A child is spawned, never forked: it imports the app by its module's name.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.client import JobCall
from penstock.domain.errors import ConfigError, ProcessDied
from penstock.domain.retry import GiveUp, RetryAt
from penstock.worker.batches import Failed
from penstock.worker.frames import Answer, Done, Frames, Leave, Raised, Said, Start, Work, frame, from_child
from penstock.worker.outage import Patience
from penstock.worker.outcomes import ChildError
from penstock.worker.run import Run, Unit

# The working directory is not on the path yet (-P): a queue.py in it is not the one that is imported here.
CODE = "import sys; sys.path.append(sys.argv[3]); from penstock.worker.child import main; main()"
OURS = str(Path(__file__).parents[2])
LEAVE_SECONDS = 3.0
# A grandchild may hold the socket open after the child has gone; what was sent is read by then.
LAST_WORDS_SECONDS = 0.5

Began = Callable[[Any], None]
Ended = Callable[[Any, Any, BaseException | None], None]

log = logging.getLogger("penstock.worker")


class Processes:
    """`size` children. Calls wait in line for a free one; a child that is gone is replaced at once."""

    def __init__(self, size: int, start: Start) -> None:
        self._loop = asyncio.get_running_loop()
        self._size = size
        self._start = start
        self._waiting: deque[tuple[Unit, Began, Ended]] = deque()
        self._idle: list[Child] = []
        self._children: set[Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._patience = Patience()
        self._closing = False

    async def open(self) -> None:
        """Start all children, and come back when the first is ready: an app that no child can load is an error here."""
        first = await self._spawn()
        if first.problem is not None:
            await self.close()
            raise ConfigError(f"the process handlers of this app cannot run: {first.problem}")
        self._free(first)
        for _ in range(self._size - 1):
            self._replace()

    def start(self, unit: Unit, began: Began, ended: Ended) -> None:
        self._waiting.append((unit, began, ended))
        self._assign()

    def give_up(self, unit: Unit) -> None:
        """A child that was killed is still there: let another take its place."""
        for child in self._children:
            if child.unit is unit:
                child.unit = None
                child.retire()

    async def close(self) -> None:
        """Ask the children to leave, and see to it that they do."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        children = list(self._children)
        for child in children:
            child.leave()
        await _all_gone(children)
        for child in children:
            child.kill()
        await _all_gone(children)

    # The children

    async def _spawn(self) -> Child:
        """A new child that is ready, or has a problem."""
        child = Child(self._loop, self._free, self._replace)
        self._children.add(child)
        try:
            await child.start(self._start)
        except BaseException:
            child.kill()
            raise
        if child.problem is not None:
            child.kill()
        return child

    def _replace(self) -> None:
        if not self._closing:
            task = self._loop.create_task(self._spawn_until_ready())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _spawn_until_ready(self) -> None:
        while True:
            try:
                child = await self._spawn()
            except OSError as error:
                await self._patience.wait("could not start a child process", error)
                continue
            if child.problem is None:
                self._patience = Patience()
                self._free(child)
                return
            await self._patience.wait("a child process could not begin", ConfigError(child.problem))

    def _free(self, child: Child) -> None:
        self._idle.append(child)
        self._assign()

    def _assign(self) -> None:
        self._children = {child for child in self._children if not child.gone.is_set()}
        self._idle = [child for child in self._idle if child.serving]
        while self._waiting and self._idle:
            unit, began, ended = self._waiting.popleft()
            if unit.batched:
                unit.runs = [run for run in unit.runs if not run.over]
            elif unit.over:
                continue
            if unit.runs:
                began(unit)
                self._idle.pop().work(unit, ended)
            else:
                ended(unit, [], None)


async def _all_gone(children: list[Child]) -> None:
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            for child in children:
                await child.gone.wait()
    except TimeoutError:
        pass


class Child(asyncio.Protocol):
    """One child process. `serving` from its first answer until it leaves, is killed or is gone."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, free: Callable[[Child], None], lost: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._free = free
        self._lost = lost
        self._frames = Frames(self._heard)
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._settled = asyncio.Event()
        self._silent = False
        self._retired = False
        self._code: int | None = None
        self._ended: Ended | None = None
        self.unit: Unit | None = None
        self.serving = False
        self.problem: str | None = None
        """Why it could not begin."""
        self.gone = asyncio.Event()

    async def start(self, first: Start) -> None:
        """Spawn it, and wait until it is ready or has failed."""
        transport, _ = await self._loop.create_unix_connection(lambda: self, sock=self._spawn())
        self._transport = transport
        transport.write(frame(first))
        await self._settled.wait()

    def _spawn(self) -> socket.socket:
        """Start the process, and answer our end of the socket pair."""
        ours, theirs = socket.socketpair()
        try:
            # A session of its own: a Ctrl-C in the terminal is for the worker, which decides what becomes of its
            # children; and whatever the handler starts can be killed together with it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", CODE, str(theirs.fileno()), str(os.getpid()), OURS],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            self.gone.set()
            raise
        finally:
            theirs.close()
        threading.Thread(target=self._wait, name="penstock-child", daemon=True).start()
        return ours

    def work(self, unit: Unit, ended: Ended) -> None:
        assert self._transport is not None
        self.unit, self._ended = unit, ended
        unit.interrupt = self.kill
        first = unit.runs[0]
        seconds = None if first.deadline is None else first.deadline - first.started
        self._transport.write(frame(Work([run.claim for run in unit.runs], first.started_us, seconds)))

    def leave(self) -> None:
        """Ask it to end."""
        self.serving = False
        if self._transport is not None and not self._silent:
            self._transport.write(frame(Leave()))

    def kill(self) -> None:
        """End it now, and whatever it has started."""
        self.serving = False
        if self._process is not None and self._code is None:
            _kill_group(self._process.pid)

    def retire(self) -> None:
        """It takes no more work: have it replaced."""
        self.serving = False
        if not self._retired:
            self._retired = True
            self._lost()

    # What it says

    def data_received(self, data: bytes) -> None:
        self._frames.feed(data)

    def _heard(self, body: bytes) -> None:
        message = from_child.decode(body)
        if isinstance(message, Said):
            for run in () if self.unit is None else self.unit.runs:
                if run.claim.token == message.token:
                    run.say(message.progress)
        elif isinstance(message, Answer):
            self._answered(message)
        else:
            self.problem = message.problem
            self.serving = message.problem is None
            self._settled.set()

    def _answered(self, answer: Answer) -> None:
        unit, ended = self.unit, self._ended
        self.unit = self._ended = None
        if answer.leaving:
            self.retire()
            self._loop.call_later(LEAVE_SECONDS, self.kill)  # What a handler has left running may keep it.
        elif self.serving and unit is not None:
            self._free(self)
        if unit is None or ended is None:
            return
        outcomes = [_outcome(run, one) for run, one in zip(unit.runs, answer.outcomes, strict=True)]
        if unit.batched:
            ended(unit, [result if error is None else Failed(error) for result, error in outcomes], None)
        else:
            ended(unit, *outcomes[0])

    # Its end

    def connection_lost(self, exc: Exception | None) -> None:
        self._silent = True
        self._look_gone()

    def _wait(self) -> None:
        assert self._process is not None
        code = self._process.wait()
        try:
            self._loop.call_soon_threadsafe(self._exited, code)
        except RuntimeError:
            pass  # The loop is closed: the worker has gone before its child.

    def _exited(self, code: int) -> None:
        self._code = code
        _kill_group(self._process.pid if self._process is not None else 0)
        self._loop.call_later(LAST_WORDS_SECONDS, self.connection_lost, None)
        self._look_gone()

    def _look_gone(self) -> None:
        if self._code is None or not self._silent or self.gone.is_set():
            return
        self.gone.set()
        if self._transport is not None:
            self._transport.close()
        how = _how_it_ended(self._code)
        if not self._settled.is_set():
            self.problem = f"a child process {how} before it was ready"
            self._settled.set()
        if self.problem is not None:
            return  # Whoever waited for its beginning tries another.
        unit, ended = self.unit, self._ended
        self.unit = self._ended = None
        if unit is None and self.serving:
            log.warning("an idle child process %s; it is replaced", how)
        self.retire()
        if unit is not None and ended is not None:
            ended(unit, None, ProcessDied(f"the process of this job {how}"))


def _outcome(run: Run, outcome: Done | Raised) -> tuple[Any, BaseException | None]:
    if outcome.progress is not None and outcome.progress != run.progress:
        run.say(outcome.progress)
    if isinstance(outcome, Done):
        run.follow_ups = tuple(JobCall(call.payload, call.spec, call.job_id) for call in outcome.follow_ups)
        return None if outcome.result is None else msgspec.Raw(outcome.result.encode()), None
    verdict = RetryAt(outcome.delay) if outcome.reason is None else GiveUp(outcome.reason)
    return None, ChildError(outcome.info, verdict)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # It is gone already.


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    hint = "; perhaps the system was out of memory" if -code == signal.SIGKILL else ""
    return f"was ended by signal {name}{hint}"
