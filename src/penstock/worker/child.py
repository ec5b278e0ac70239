"""The inside of a child process: imports the app, runs one call after another, and ends when the worker is gone.

The handler runs in the main thread; async handlers and the lifespan have an event loop in a thread of their own.
"""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import importlib
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.domain.errors import ConfigError
from penstock.domain.options import decode_policy
from penstock.domain.payload import encode_json
from penstock.domain.registry import Declaration
from penstock.domain.retry import GiveUp, describe_error
from penstock.observe import logs
from penstock.store.params import Claim
from penstock.worker.batches import outcomes_of
from penstock.worker.context import context_of, running
from penstock.worker.frames import (
    HEAD,
    Answer,
    Done,
    FollowUp,
    FromChild,
    Raised,
    Ready,
    Said,
    Start,
    Work,
    frame,
    to_child,
)
from penstock.worker.memory import resident_bytes
from penstock.worker.outcomes import judge
from penstock.worker.run import BatchCall, Plan, Run, Unit
from penstock.worker.settings import no_lifespan

SAY_SECONDS = 0.1


def main() -> None:
    """Serve the worker at the other end of the socket whose number is the argument."""
    faulthandler.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # Only the worker decides; a handler of ours is not inherited by exec.
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()


class Server:
    """One end of the socket pair, and the app behind it."""

    def __init__(self, sock: socket.socket) -> None:
        sock.set_inheritable(False)
        self._sock = sock
        self._lines = sock.makefile("rb")
        self._sending = threading.Lock()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._plans: dict[str, Plan] = {}
        self._resources: Any = None
        self._served = 0

    def serve(self) -> None:
        start = self._read()
        if not isinstance(start, Start):
            return
        self._start = start
        try:
            app = load(start)
        except BaseException as error:
            self.send(Ready(f"{type(error).__name__}: {error}"))
            return
        self._registry = app.registry
        threading.Thread(target=self._listen, name="penstock-listen", daemon=True).start()
        with self._loop(app) as self._async:
            self.send(Ready())
            while isinstance(work := self._inbox.get(), Work):
                answer = self._answer(work)
                self.send(answer)
                if answer.leaving:
                    break

    def send(self, message: FromChild) -> None:
        with self._sending:
            self._sock.sendall(frame(message))

    def _read(self) -> Any:
        """The next word of the worker, or None when it is gone."""
        head = self._lines.read(HEAD.size)
        body = self._lines.read(HEAD.unpack(head)[0]) if len(head) == HEAD.size else b""
        return to_child.decode(body) if body else None

    def _listen(self) -> None:
        try:
            while (message := self._read()) is not None:
                self._inbox.put(message)
        except OSError:
            pass
        # The worker is gone: its jobs will be recovered, so nothing here may go on with them.
        os.killpg(os.getpgrp(), signal.SIGKILL)

    # Async handlers and the lifespan

    @contextmanager
    def _loop(self, app: Any) -> Iterator[asyncio.AbstractEventLoop | None]:
        """An event loop in a thread, where the app needs one, with what the lifespan yields."""
        declarations = [app.registry.find(name) for name in self._start.types]
        if app.lifespan is no_lifespan and not any(declaration.is_async for declaration in declarations):
            yield None
            return
        opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        thread = threading.Thread(target=self._run_loop, args=(app, opened), name="penstock-loop")
        thread.start()
        try:
            loop, closing = opened.result()
        except BaseException as error:
            self.send(Ready(f"the lifespan raised {type(error).__name__}: {error}"))
            sys.exit(1)
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(closing.set)
            thread.join()

    def _run_loop(self, app: Any, opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        async def live() -> None:
            closing = asyncio.Event()
            async with app.lifespan() as self._resources:
                opened.set_result((asyncio.get_running_loop(), closing))
                await closing.wait()

        try:
            asyncio.run(live())
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    # Calls

    def _answer(self, work: Work) -> Answer:
        runs = [self._run(number, claim, work) for number, claim in enumerate(work.claims)]
        declaration = runs[0].plan.declaration
        if declaration.batching is None:
            outcomes = [self._call(runs[0])]
        else:
            call = BatchCall(runs)
            outcomes = list(outcomes_of(call, *self._call(call)))
        told = [_told(run, result, error) for run, (result, error) in zip(runs, outcomes, strict=True)]
        self._served += len(runs)
        return Answer(told, self._enough())

    def _run(self, number: int, claim: Claim, work: Work) -> Run:
        plan = self._plans.get(claim.type)
        if plan is None:
            plan = self._plans[claim.type] = Plan(_declared(self._registry, claim.type), claim.type)
        run = ChildRun(self, number, claim, plan, work.started_us)
        run.args = plan.declaration.signature.decode(claim.payload)
        run.deadline = work.seconds
        run.resources = self._resources
        return run

    def _call(self, unit: Unit) -> tuple[Any, BaseException | None]:
        context = contextvars.copy_context()
        context.run(running.set, unit)
        try:
            result = context.run(unit.call, context_of)
            if unit.plan.declaration.is_async:
                assert self._async is not None
                result = context.run(asyncio.run_coroutine_threadsafe, result, self._async).result()
            return result, None
        except BaseException as error:
            return None, error

    def _enough(self) -> bool:
        start = self._start
        return (start.max_jobs is not None and self._served >= start.max_jobs) or (
            start.max_memory is not None and resident_bytes() > start.max_memory
        )


class ChildRun(Run):
    """An attempt whose progress goes to the worker, now and then; the last goes with the answer."""

    def __init__(self, server: Server, number: int, claim: Claim, plan: Plan, started_us: int) -> None:
        super().__init__(claim, plan, decode_policy(claim.policy), None, 0.0, started_us)
        self._server = server
        self._number = number
        self._said = -SAY_SECONDS

    def say(self, progress: str) -> None:
        self.progress = progress
        now = time.monotonic()
        if now - self._said >= SAY_SECONDS:
            self._said = now
            self._server.send(Said(self._number, progress))


def load(start: Start) -> Any:
    """The app, imported as the worker imported it, with a handler for every type."""
    sys.path[:] = start.path
    if start.log is not None:
        logs.configure(*start.log)
    module, name = start.app
    app = getattr(importlib.import_module(module), name)
    for other in start.modules:
        importlib.import_module(other)
    for job in start.types:
        _declared(app.registry, job)
    return app


def _declared(registry: Any, name: str) -> Declaration:
    declaration: Declaration | None = registry.find(name)
    if declaration is None:
        raise ConfigError(
            f"{name!r} is not declared when its module is only imported: declare it at the top level of a module"
        )
    return declaration


def _told(run: Run, result: Any, error: BaseException | None) -> Done | Raised:
    if error is None:
        try:
            text = None if result is None else encode_json(result, f"the result of {run.claim.type}")
            calls = [FollowUp(call.payload, call.spec, call.job_id) for call in run.follow_ups]
            return Done(text, run.progress, calls)
        except Exception as broken:
            error = broken
    verdict = judge(run.plan.declaration, run.policy, run.claim.attempt, error)
    info = describe_error(error)
    if isinstance(verdict, GiveUp):
        return Raised(info, 0.0, verdict.reason, run.progress)
    return Raised(info, verdict.delay, None, run.progress)
