"""One child process as the worker sees it: spawned, spoken to over a socket pair, killed, and gone."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from penstock.client.client import JobCall
from penstock.domain.errors import ProcessDied
from penstock.worker.finishing.outcomes import ChildError
from penstock.worker.processes.descendants import kill_descendants, kill_marked
from penstock.worker.processes.exits import describe_exit
from penstock.worker.processes.frames import (
    Answer,
    Done,
    Finishing,
    Frames,
    Leave,
    Raised,
    Said,
    Start,
    Work,
    frame,
    from_child,
)
from penstock.worker.running.batches import Failed
from penstock.worker.running.run import Ended, FinishedIn, Run, Unit

# The folder of the working directory is not on the path yet (-P): a queue.py of the user is not the one we need.
# Ctrl-C, which a terminal sends to all, is left to the worker from the first line on.
CODE = (
    "import signal, sys; signal.signal(signal.SIGINT, lambda *_: None); "
    "sys.path.append(sys.argv[3]); from penstock.worker.processes.child_main import main; main()"
)
OURS = str(Path(__file__).parents[3])
MARK = "CHILD_OF_PENSTOCK"
"""In the environment of a child, and so of all that it starts. (PENSTOCK_… are settings.)"""
LEAVE_SECONDS = 3.0
# A grandchild may hold the socket open after the child has gone; what was sent is read by then.
LAST_WORDS_SECONDS = 0.5

log = logging.getLogger("penstock.worker")


class ChildProcess(asyncio.Protocol):
    """One child process. `serving` from its first answer until it leaves, is killed or is gone."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, free: Callable[[ChildProcess], None], lost: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._free = free
        self._lost = lost
        self._frames = Frames(self._heard)
        self._mark = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._settled = asyncio.Event()
        self._silent = False
        self._retired = False
        self._code: int | None = None
        self._ended: Ended | None = None
        self.unit: Unit | None = None
        self.serving = False
        self.freed_at = 0.0
        """When it last became free."""
        self.problem: str | None = None
        """Why it could not begin."""
        self.missing: dict[str, str] = {}
        """The types that it cannot run, of those that it need not, and why."""
        self.gone = asyncio.Event()

    @property
    def was_killed(self) -> bool:
        """Whether somebody ended it, other than by a crash of its own."""
        return self._code == -signal.SIGKILL

    @property
    def in_place(self) -> bool:
        """Whether it is one of the pool: no other may be started in its place."""
        ready = self._settled.is_set() and self.problem is None
        return ready and not self._retired and not self.gone.is_set()

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
                env=os.environ | {MARK: self._mark},
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
        """End it now, and whatever it has started, also what has a session of its own by now."""
        self.serving = False
        if self._process is not None and self._code is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGSTOP)  # It starts no more, and is still there to be their parent.
            kill_descendants(self._process.pid)
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
        if isinstance(message, Said | Finishing):
            for run in () if self.unit is None else self.unit.runs:
                if run.claim.token == message.token:
                    _note(run, message)
        elif isinstance(message, Answer):
            self._answered(message)
        else:
            self.problem, self.missing = message.problem, message.missing
            self.serving = message.problem is None
            self._settled.set()

    def _answered(self, answer: Answer) -> None:
        unit, ended = self.unit, self._ended
        runs = () if unit is None else unit.runs
        outcomes = [_outcome(run, one) for run, one in zip(runs, answer.outcomes, strict=unit is not None)]
        self.unit = self._ended = None
        if answer.leaving:
            self.serving = False
            self._loop.call_later(LEAVE_SECONDS, self.kill)  # What a handler has left running may keep it.
        elif self.serving and unit is not None:
            self._free(self)
        if unit is None or ended is None:
            return
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
        if self._process is not None:
            _kill_group(self._process.pid)
        if code != 0 or self.unit is not None:  # One that leaves in order sees to it itself.
            kill_marked(f"{MARK}={self._mark}")
        self._loop.call_later(LAST_WORDS_SECONDS, self.connection_lost, None)
        self._look_gone()

    def _look_gone(self) -> None:
        if self._code is None or not self._silent or self.gone.is_set():
            return
        self.gone.set()
        if self._transport is not None:
            self._transport.close()
        how = describe_exit(self._code)
        if not self._settled.is_set():
            self.problem = f"a child process ended before it was ready: {how}"
            self._settled.set()
        if self.problem is not None:
            return  # Whoever waited for its beginning tries another.
        unit, ended = self.unit, self._ended
        self.unit = self._ended = None
        if unit is None and self.serving:
            log.warning("an idle child process ended, and is replaced: %s", how)
        self.retire()
        if unit is not None and ended is not None:
            ended(unit, None, ProcessDied(f"the process of this job ended: {how}"))


def _note(run: Run, message: Said | Finishing) -> None:
    if isinstance(message, Said):
        run.say(message.progress)
    else:
        run.finished_in = FinishedIn(None if message.result is None else msgspec.Raw(message.result.encode()))


def _outcome(run: Run, outcome: Done | Raised) -> tuple[Any, BaseException | None]:
    if outcome.progress is not None and outcome.progress != run.progress:
        run.say(outcome.progress)
    if not outcome.finished:
        run.finished_in = None  # It said that it would be, and that has failed.
    if isinstance(outcome, Done):
        run.follow_ups = tuple(
            JobCall(call.payload, call.spec, call.job_id, None, call.gates) for call in outcome.follow_ups
        )
        run.workflows = tuple(outcome.workflows)
        return None if outcome.result is None else msgspec.Raw(outcome.result.encode()), None
    return None, ChildError(outcome.info, outcome.verdict)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # It is gone already.
