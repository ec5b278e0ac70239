"""The composition root: one App ties a store, the declared jobs, the client and the worker together."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from penstock.client import Client, JobCall, JobHandle, as_calls, checked_options, refuse_in_loop
from penstock.domain.clock import Clock, SystemClock
from penstock.domain.errors import ConfigError
from penstock.domain.ids import check_id
from penstock.domain.options import DEFAULTS
from penstock.domain.payload import handler_hints, result_type_of, signature_of
from penstock.domain.registry import Declaration, Registry
from penstock.jobtype import EnqueueOptions, JobType, TypeOptions
from penstock.store.contract import Store, Transaction
from penstock.store.open import open_store
from penstock.store.params import History
from penstock.worker.context import Context
from penstock.worker.settings import Lifespan, Retention, make_settings, no_lifespan

P = ParamSpec("P")
X = TypeVar("X")
R = TypeVar("R")
Co = Coroutine[Any, Any, R]


class Declare(Protocol):
    """What @app.job(...) returns: give it the handler. Async or plain, with or without a Context."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context, P], Co[R]]
    ) -> JobType[Concatenate[Context, P], Co[R], P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Co[R]]) -> JobType[P, Co[R], P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R]) -> JobType[Concatenate[Context, P], R, P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R]) -> JobType[P, R, P, R]: ...


class App:
    """Jobs of one store. `App("sqlite:///jobs.db")` opens nothing yet: the store is opened at first use.

    `lifespan` is an async context manager, entered once per worker; what it yields is ctx.resources.
    """

    def __init__(
        self,
        store: str | Store,
        *,
        lifespan: Lifespan = no_lifespan,
        history: History = "default",
        retention: Retention | None = None,
        clock: Clock | None = None,
    ) -> None:
        if history not in ("all", "default", "failures", "none"):
            raise ConfigError(f"history={history!r} does not exist; use one of: all, default, failures, none")
        self._clock = clock or SystemClock()
        self._store = open_store(store, clock=self._clock, random=random.random) if isinstance(store, str) else store
        self._lifespan = lifespan
        self._history: History = history
        self._retention = retention or Retention()
        self.registry = Registry()
        self.client = Client(lambda: self._store, self.registry, self._clock)

    @property
    def store(self) -> Store:
        """The job store, for tools. Applications use the methods of this class."""
        return self._store

    # Declaring

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
    def job(
        self, *, name: str | None = None, aliases: Iterable[str] = (), **options: Unpack[TypeOptions]
    ) -> Declare: ...

    def job(self, *function: Any, **options: Any) -> Any:
        """Declare a job: @app.job or @app.job(queue="mail", attempts=5). The function's parameters are the payload."""

        name, aliases = options.pop("name", None), options.pop("aliases", ())

        def declare(handler: Callable[..., Any]) -> JobType[Any, Any, Any, Any]:
            declaration = self._declaration(handler, name, aliases, options)
            self.registry.add(declaration)
            return JobType(self.client, declaration)

        return declare(*function) if function else declare

    def _declaration(
        self, handler: Callable[..., Any], name: str | None, aliases: Iterable[str], options: dict[str, Any]
    ) -> Declaration:
        if not inspect.isroutine(handler):
            raise ConfigError(f"@app.job takes a function, not {handler!r}")
        if inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler):
            raise ConfigError(f"{handler.__qualname__} is a generator; a handler returns once: return a list")
        wants_context = _wants_context(handler)
        return Declaration(
            name=name or handler.__name__,
            function=handler,
            signature=signature_of(handler, skip_first=wants_context),
            options=checked_options(DEFAULTS, options),
            wants_context=wants_context,
            is_async=inspect.iscoroutinefunction(handler),
            result_type=result_type_of(handler),
            aliases=tuple(aliases),
        )

    # Enqueueing

    def enqueue_many(self, calls: Iterable[JobCall[Any]], *, conn: object | None = None) -> list[JobHandle[Any]]:
        """Store many jobs in one transaction, all or nothing: app.enqueue_many(job.bind(x) for x in items)."""
        refuse_in_loop("enqueue_many", "aenqueue_many")
        return self.client.enqueue(as_calls(calls), conn)

    async def aenqueue_many(self, calls: Iterable[JobCall[Any]], *, conn: object | None = None) -> list[JobHandle[Any]]:
        """The same for async code."""
        return await self.client.aenqueue(as_calls(calls), conn)

    def enqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        conn: object | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> JobHandle[Any]:
        """Store a job by the name of its type; the handler need not be importable here."""
        refuse_in_loop("enqueue", "aenqueue")
        if self.client.needs_types(name):
            self.client.remember_types(self._store.read_types().wait())
        call = self.client.call_by_name(name, payload or {}, dict(options), self.client.types)
        return self.client.enqueue([call], conn)[0]

    async def aenqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        conn: object | None = None,
        **options: Unpack[EnqueueOptions],
    ) -> JobHandle[Any]:
        """The same for async code."""
        if self.client.needs_types(name):
            self.client.remember_types(await self._store.read_types())
        call = self.client.call_by_name(name, payload or {}, dict(options), self.client.types)
        return (await self.client.aenqueue([call], conn))[0]

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction on the store: your statements and using(conn=tx).enqueue(…) commit together or not at all."""
        refuse_in_loop("transaction", "atransaction")
        return self._store.transaction()

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        """The same for async code: async with app.atransaction() as tx."""
        return self._store.atransaction()

    # Following

    def get(self, job_id: str) -> JobHandle[Any]:
        """The job with this id, or UnknownJob."""
        refuse_in_loop("get", "aget")
        return self.client.handle(check_id(job_id), self.client.get(job_id).wait())

    async def aget(self, job_id: str) -> JobHandle[Any]:
        return self.client.handle(check_id(job_id), await self.client.get(job_id))

    # Running

    async def run_worker(self, **settings: Any) -> None:
        """Run a worker here until it is stopped by a signal, or, with burst=True, until nothing is left.

        Settings: concurrency, types, queues, capabilities, resources, worker_id, poll_interval,
        heartbeat_interval, shutdown_timeout, job_timeout, burst.
        """
        from penstock.worker.signals import stop_on_signals
        from penstock.worker.worker import Worker

        checked = make_settings(**{"history": self._history, "retention": self._retention, **settings})
        worker = Worker(self._store, self.registry, self.client, checked, self._clock, self._lifespan)
        with stop_on_signals(worker.stop):
            await worker.run()

    def close(self) -> None:
        """Close the store. Jobs that were enqueued are safe in it."""
        self._store.close()


def _wants_context(handler: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(handler).parameters.values())
    return bool(parameters) and handler_hints(handler).get(parameters[0].name) is Context
