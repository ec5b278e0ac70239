"""The inside of a child process: imports the app, runs one call after another, and ends when the worker is gone.

The handler runs in the main thread; async handlers and the lifespan have an event loop in a thread of their own.
"""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import importlib
import io
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.domain.current_call import running
from penstock.domain.errors import ConfigError
from penstock.domain.failure.retry import describe_error
from penstock.domain.options import decode_policy
from penstock.domain.payload import encode_json
from penstock.domain.registry import Declaration
from penstock.observe import logs
from penstock.observe.redaction import log_error, redact, told
from penstock.store.call import Call
from penstock.store.contract import Claim, Finished
from penstock.worker.finishing.outcomes import completion_of, judge
from penstock.worker.processes.child_socket import ChildSocket
from penstock.worker.processes.descendants import adopt_orphans, kill_descendants
from penstock.worker.processes.frames import (
    Answer,
    Done,
    Finishing,
    FollowUpCall,
    OtherType,
    Raised,
    Ready,
    Start,
    Work,
)
from penstock.worker.processes.memory import resident_bytes
from penstock.worker.running.batches import Outcome, outcomes_of
from penstock.worker.running.context import context_of
from penstock.worker.running.follow_ups import follow_ups_of
from penstock.worker.running.run import BatchCall, Run, TypePlan, TypePlans, Unit
from penstock.worker.settings import no_lifespan

loading = False
"""Whether this is a child that imports the app. A worker that starts now would start children that do the same."""

log = logging.getLogger("penstock.worker")


def main() -> None:
    """Serve the worker: the arguments are the number of the socket and the worker's process id."""
    if sys.stderr is not None:
        faulthandler.enable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # What a handler has printed is not lost when it is killed.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: None)  # Only the worker decides; a handler of ours is not inherited by exec.
    number, worker = map(int, sys.argv[1:3])
    adopt_orphans()
    try:
        CallServer(ChildSocket(socket.socket(fileno=number), worker)).serve()
    finally:
        kill_descendants(os.getpid())  # What handlers have left running ends with the process that they ran in.


class CallServer:
    """The app, and the calls that the worker asks for."""

    def __init__(self, worker: ChildSocket) -> None:
        self.worker = worker
        self._resources: Any = None
        self._served = 0
        self._broken = False

    def serve(self) -> None:
        start = self.worker.read()
        if not isinstance(start, Start):
            return
        self._start = start
        self.worker.attend()
        try:
            app, missing = load(start)
        except BaseException as error:
            self.worker.send(Ready(_problem(error)))
            return
        self._app = app
        served = [*start.types, *(other.name for other in start.others if other.name not in missing)]
        with self._loop(app, [app.registry.find(name) for name in served]) as self._async:
            self._plans = TypePlans(app.registry, app.store, self._resources, self._finish_in)
            self.worker.send(Ready(missing=missing))
            while isinstance(work := self.worker.read(), Work):
                answer = self._answer(work)
                self.worker.send(answer)
                if answer.leaving:
                    break

    # Async handlers and the lifespan

    @contextmanager
    def _loop(self, app: Any, served: list[Declaration]) -> Iterator[asyncio.AbstractEventLoop | None]:
        """An event loop in a thread, where the app needs one, with what the lifespan yields."""
        if app.lifespan is no_lifespan and not any(declaration.is_async for declaration in served):
            yield None
            return
        opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        thread = threading.Thread(target=self._run_loop, args=(app, opened), name="penstock-loop")
        thread.start()
        try:
            loop, closing = opened.result()
        except BaseException as error:
            self.worker.send(Ready(f"the lifespan raised {type(error).__name__}: {told(error)}"))
            sys.exit(1)
        try:
            yield loop
        finally:
            if not self._broken:
                loop.call_soon_threadsafe(closing.set)
            thread.join()

    def _run_loop(self, app: Any, opened: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        async def live() -> None:
            closing = asyncio.Event()
            async with app.lifespan() as self._resources:
                opened.set_result((asyncio.get_running_loop(), closing))
                try:
                    await closing.wait()
                finally:
                    self._broken = not closing.is_set()

        try:
            asyncio.run(live())
        except BaseException as error:
            if opened.done():
                log_error(log, logging.ERROR, error, "the event loop of a child process has ended; the process is "
                          "replaced")  # fmt: skip
                self.worker.hang_up()
            else:
                opened.set_exception(error)

    # Calls

    def _answer(self, work: Work) -> Answer:
        runs = [self._run(claim, work) for claim in work.claims]
        declaration = runs[0].plan.declaration
        if declaration.batching is None:
            outcomes = [self._call(runs[0])]
        else:
            call = BatchCall(runs)
            outcomes = list(outcomes_of(call, *self._call(call)))
        answers = [_answered(run, result, error) for run, (result, error) in zip(runs, outcomes, strict=True)]
        for run in runs:
            run.over = True
        self._served += len(runs)
        return Answer(answers, self._enough())

    def _run(self, claim: Claim, work: Work) -> Run:
        plan = self._plans.get(claim.type)
        assert plan is not None
        run = ChildRun(self.worker, claim, plan, work.started_us)
        run.deadline = work.seconds
        return run

    def _finish_in(self, run: Run, conn: object, result: Any) -> Call[Finished]:
        """The completion in a transaction of the handler's, on a store of this process."""
        done, attached = completion_of(run, result, self._app.client)
        self.worker.send(Finishing(done.token, done.result))
        call: Call[Finished] = self._app.store.finish_jobs(attached.finish(done, self._start.history, conn))
        return call

    def _call(self, unit: Unit) -> Outcome:
        context = contextvars.copy_context()
        context.run(running.set, unit)
        try:
            for run in unit.runs:
                run.args = run.plan.declaration.signature.decode(run.claim.payload)
            result = context.run(unit.call, context_of)
            if unit.plan.declaration.is_async:
                assert self._async is not None
                return context.run(asyncio.run_coroutine_threadsafe, _caught(result), self._async).result()
            return result, None
        except BaseException as error:
            return None, error

    def _enough(self) -> bool:
        start = self._start
        return (
            self._broken
            or self.worker.crowded
            or (start.max_jobs is not None and self._served >= start.max_jobs)
            or (start.max_memory is not None and resident_bytes() > start.max_memory)
        )


class ChildRun(Run):
    """An attempt whose progress goes to the worker, now and then; the last goes with the answer."""

    def __init__(self, worker: ChildSocket, claim: Claim, plan: TypePlan, started_us: int) -> None:
        super().__init__(claim, plan, decode_policy(claim.policy), None, 0.0, started_us)
        self._worker = worker

    def say(self, progress: str) -> None:
        self.progress = progress
        if not self.over:
            self._worker.say(self.claim.token, progress)


async def _caught(handler: Coroutine[Any, Any, Any]) -> Outcome:
    """The outcome of an async handler. An exit that it raises would end the loop, if it got so far."""
    try:
        return await handler, None
    except BaseException as error:
        return None, error


def load(start: Start) -> tuple[Any, dict[str, str]]:
    """The app, imported as the worker imported it, with a handler for every type; and which of the others it lacks."""
    global loading
    sys.path[:] = start.path
    if start.log is not None:
        logs.configure(*start.log, processes=True)
    module, name = start.app
    loading = True
    app = getattr(importlib.import_module(module), name)
    for other in start.modules:
        importlib.import_module(other)
    missing = {other.name: why for other in start.others if (why := _missing(app, other)) is not None}
    loading = False
    for job, follow_ups in zip(start.types, start.follow_ups, strict=True):
        _check_follow_ups(_declared(app.registry, job), follow_ups)
    if start.refusal is not None:
        app.withhold_store(start.refusal)
    return app, missing


def _missing(app: Any, other: OtherType) -> str | None:
    """Why isolated attempts of this type cannot run here, if so."""
    try:
        importlib.import_module(other.module)
        _check_follow_ups(_declared(app.registry, other.name), other.follow_ups)
    except BaseException as error:
        return _problem(error)
    return None


def _problem(error: BaseException) -> str:
    """Why the app could not be loaded, and where."""
    if isinstance(error, ConfigError):
        return told(error)
    stack = traceback.extract_tb(error.__traceback__)
    places = [f"{at.filename}:{at.lineno}" for at in stack if not at.filename.startswith("<frozen ")]
    return f"{type(error).__name__}: {told(error)} (at {places[-1]})"


def _declared(registry: Any, name: str) -> Declaration:
    declaration: Declaration | None = registry.find(name)
    if declaration is None:
        raise ConfigError(
            f"{name!r} is not declared when its module is only imported: declare it at the top level of a module"
        )
    return declaration


def _check_follow_ups(declaration: Declaration, expected: int) -> None:
    """What is enqueued after a job is decided here: it must be what the worker knows."""
    if len(declaration.follow_ups) != expected:
        raise ConfigError(
            f"then() of {declaration.name!r} was not called when its module was only imported, or was called again "
            "later: call it at the top level of a module, beside the job"
        )


def _answered(run: Run, result: Any, error: BaseException | None) -> Done | Raised:
    finished = run.finished_in is not None
    if error is None:
        try:
            text = None if result is None else encode_json(result, f"the result of {run.claim.type}")
            calls = () if finished else follow_ups_of(run, result)
            made = [FollowUpCall(call.payload, call.spec, call.job_id, call.gates) for call in calls]
            return Done(text, run.progress, made, finished, list(run.workflows))
        except BaseException as broken:
            error = broken
    return Raised(describe_error(error, redact), judge(run, error), run.progress, finished)
