"""Declaring jobs and schedules, and what may be seen of errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Never, ParamSpec, TypeVar, Unpack, overload

from penstock.app.core import Core
from penstock.client.client import JobCall
from penstock.client.schedules.plan import When, check_schedule_name, make_plan
from penstock.declare.declaration import declare_batch, declare_function, declare_handler, new_handler
from penstock.declare.jobtype import Declare, DeclareBatch, DeclareOptions, JobType
from penstock.domain.duration import Duration
from penstock.domain.errors import ConfigError
from penstock.domain.registry import Declaration
from penstock.observe.redaction import Redact, add_hook
from penstock.worker.running.context import Context
from penstock.worker.running.handler import Handler

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D")
Co = Coroutine[Any, Any, R]
Redacting = TypeVar("Redacting", bound=Redact)


class Declaring(Core):
    """The side of code that tells what there is to run."""

    @overload
    def job(self, function: type[Handler[D, R]], /) -> JobType[[Context, D], Any, [D], R]: ...
    @overload
    def job(
        self, function: Callable[Concatenate[Context, P], Co[R]], /
    ) -> JobType[Concatenate[Context, P], Co[R], P, R]: ...
    @overload
    def job(self, function: Callable[P, Co[R]], /) -> JobType[P, Co[R], P, R]: ...
    @overload
    def job(self, function: Callable[Concatenate[Context, P], R], /) -> JobType[Concatenate[Context, P], R, P, R]: ...
    @overload
    def job(self, function: Callable[P, R], /) -> JobType[P, R, P, R]: ...
    @overload
    def job(self, **options: Unpack[DeclareOptions]) -> Declare: ...

    def job(self, *function: Any, **options: Any) -> Any:
        """Declare a job: @app.job or @app.job(queue="mail", attempts=5). The function's parameters are the payload."""

        def declare(handler: Any) -> JobType[Any, Any, Any, Any]:
            if inspect.isclass(handler) and issubclass(handler, Handler):
                return self._add(declare_handler(new_handler(handler), self._defaults, **options))
            return self._add(declare_function(handler, self._defaults, **options))

        return declare(*function) if function else declare

    def batch_job(
        self,
        *bare: Never,
        size: int = 32,
        wait: Duration = "50ms",
        **options: Unpack[DeclareOptions],
    ) -> DeclareBatch:
        """Declare a job whose handler takes up to `size` jobs in one call, waiting at most `wait` for more of them.

        The handler takes a list of items and returns a list with one outcome each; Failed(error) for one that failed.
        Enqueue takes one item, and the job's result is one outcome.
        """
        if bare:
            raise ConfigError("@app.batch_job needs its parentheses: @app.batch_job(size=32, wait='50ms')")

        def declare(function: Any) -> JobType[Any, Any, Any, Any]:
            return self._add(declare_batch(function, self._defaults, size=size, wait=wait, **options))

        return declare

    def register(self, handler: Handler[D, R], **options: Unpack[DeclareOptions]) -> JobType[[Context, D], Any, [D], R]:
        """Declare a job by a handler object, which was given what it needs: app.register(Consolidate(repo, llm))."""
        if not isinstance(handler, Handler):
            raise ConfigError(f"app.register takes an object of a subclass of penstock.Handler, not {handler!r}")
        return self._add(declare_handler(handler, self._defaults, **options))

    def _add(self, declaration: Declaration) -> JobType[Any, Any, Any, Any]:
        self.registry.add(declaration)
        return JobType(self.client, declaration)

    def schedule(self, name: str, *, job: JobCall[Any], **when: Unpack[When]) -> None:
        """Declare a schedule: app.schedule("nightly", job=cleanup.bind(max_age="24h"), cron="0 3 * * *").

        It is installed in the store when a worker of this app starts, and fires also when that has stopped. What people
        make of it stays, until it is declared otherwise. `cron` has five fields, or six with seconds first; or give
        `every="15m"`. `timezone` (or `tz`) is UTC unless given. `start`, `end` and `limit` bound it. `misfire` is what
        becomes of times that nobody was there for: "once", "skip" or "all"; `grace` is how late is not missed.
        """
        if check_schedule_name(name) in self._planned:
            raise ConfigError(f"two schedules are declared as {name!r}; give one of them another name")
        self._planned[name] = make_plan(job, when)

    def redact(self, function: Redacting) -> Redacting:
        """Ask this function before the text of an error is stored or logged: it answers what may be seen of it.

        What looks like a key, a token or a password has been taken out already. Also as a decorator: @app.redact.
        """
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise ConfigError(f"app.redact takes a plain function from text to text, not {function!r}")
        add_hook(self, function)
        return function
