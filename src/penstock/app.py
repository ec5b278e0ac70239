"""The composition root: one App ties a store, the declared jobs, the client and the worker together."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from datetime import datetime
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Never,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from penstock.client import Client, JobCall, JobHandle, as_calls, as_spread, is_in_loop, refuse_in_loop, spreading
from penstock.config.load import Config, load
from penstock.coordinator.settings import Retention
from penstock.declare import declare_batch, declare_function, declare_handler, new_handler
from penstock.domain.clock import Clock, SystemClock
from penstock.domain.duration import Duration
from penstock.domain.errors import ConfigError, UsageError
from penstock.domain.ids import check_id
from penstock.domain.options import DEFAULTS, make_options
from penstock.domain.registry import Declaration, Registry, Runner
from penstock.domain.spread import Mode, make_spread, start_moment
from penstock.domain.workflows import OnFailure
from penstock.jobtype import Declare, DeclareBatch, DeclareOptions, EnqueueOptions, JobType
from penstock.observe.redaction import Redact, add_hook
from penstock.schedules.book import Schedules
from penstock.schedules.installing import Configured, configured_plans, install
from penstock.schedules.plan import When, check_schedule_name, make_plan
from penstock.store.contract import Store, Transaction
from penstock.store.open import open_store
from penstock.store.params import History, Plan
from penstock.worker.context import Context
from penstock.worker.handler import Handler
from penstock.worker.settings import Lifespan, WorkerSettings, make_settings, no_lifespan
from penstock.workflow import Workflow, WorkflowHandle, handle_of, known

if TYPE_CHECKING:
    from penstock.worker.worker import Worker

P = ParamSpec("P")
X = TypeVar("X")
R = TypeVar("R")
D = TypeVar("D")
T = TypeVar("T")
Co = Coroutine[Any, Any, R]
Redacting = TypeVar("Redacting", bound=Redact)


class AppSettings(TypedDict, total=False):
    """What App() takes beside the store."""

    lifespan: Lifespan
    history: History | None
    retention: Retention | None
    clock: Clock | None


class App:
    """Jobs of one store. `App("sqlite:///jobs.db")` opens nothing yet: the store is opened at first use.

    `lifespan` is an async context manager, entered once per worker; what it yields is ctx.resources.
    """

    def __init__(
        self,
        store: str | Store,
        *,
        lifespan: Lifespan = no_lifespan,
        history: History | None = None,
        retention: Retention | None = None,
        clock: Clock | None = None,
    ) -> None:
        if history not in ("all", "default", "failures", "none", None):
            raise ConfigError(f"history={history!r} does not exist; use one of: all, default, failures, none")
        self._clock = clock or SystemClock()
        self._store = open_store(store, clock=clock, random=random.random) if isinstance(store, str) else store
        self.lifespan = lifespan
        self._own = {"history": history, "retention": retention}
        self._defaults = DEFAULTS
        self.config: Config | None = None
        self.registry = Registry()
        self.client = Client(lambda: self._store, self.registry, self._clock)
        self.schedules = Schedules(self.client)
        """The schedules of the store: add, list, get, pause, resume, reschedule, remove, run."""
        self._planned: dict[str, Plan] = {}

    @classmethod
    def from_config(cls, path: str | os.PathLike[str] | None = None, **settings: Unpack[AppSettings]) -> Self:
        """An App as penstock.toml (or the file at `path`, or at PENSTOCK_CONFIG) and the environment describe it.

        The store, the history, the retention, the time-to-live in the queue and the settings of run_worker().
        What is given here or to run_worker() comes first.
        """
        config = load(path)
        app = cls(config.store(), **settings)
        app.config = config
        app._defaults = make_options(ttl=config["queue.ttl"])
        app.client.use_limits(config.limits() or ())
        app.client.use_failing_queues(config["queue.fail_without_worker"] or ())
        return app

    @property
    def store(self) -> Store:
        """The job store, for tools. Applications use the methods of this class."""
        return self._store

    # Declaring

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
    def job(
        self,
        *,
        name: str | None = None,
        aliases: Iterable[str] = (),
        runner: Runner | None = None,
        **options: Unpack[DeclareOptions],
    ) -> Declare: ...

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
        name: str | None = None,
        aliases: Iterable[str] = (),
        runner: Runner | None = None,
        **options: Unpack[DeclareOptions],
    ) -> DeclareBatch:
        """Declare a job whose handler takes up to `size` jobs in one call, waiting at most `wait` for more of them.

        The handler takes a list of items and returns a list with one outcome each; Failed(error) for one that failed.
        Enqueue takes one item, and the job's result is one outcome.
        """
        if bare:
            raise ConfigError("@app.batch_job needs its parentheses: @app.batch_job(size=32, wait='50ms')")

        def declare(function: Any) -> JobType[Any, Any, Any, Any]:
            return self._add(
                declare_batch(
                    function, self._defaults, size=size, wait=wait, name=name, aliases=aliases, runner=runner, **options
                )
            )

        return declare

    def register(
        self,
        handler: Handler[D, R],
        *,
        name: str | None = None,
        aliases: Iterable[str] = (),
        runner: Runner | None = None,
        **options: Unpack[DeclareOptions],
    ) -> JobType[[Context, D], Any, [D], R]:
        """Declare a job by a handler object, which was given what it needs: app.register(Consolidate(repo, llm))."""
        if not isinstance(handler, Handler):
            raise ConfigError(f"app.register takes an object of a subclass of penstock.Handler, not {handler!r}")
        return self._add(declare_handler(handler, self._defaults, name=name, aliases=aliases, runner=runner, **options))

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

    def spread(
        self,
        name: str,
        calls: Iterable[JobCall[Any]],
        *,
        period: Duration = "24h",
        batches: int | None = None,
        mode: Mode = "once",
        start: datetime | None = None,
    ) -> int:
        """Stagger many jobs over a period, beginning at `start` or now, and answer how many were enqueued.

        `mode="once"`: each call once, in so many batches, or without `batches` each at its own moment, evenly.
        `mode="each"`: every call in every batch; 6 batches in 24 hours are one every 4 hours. All or nothing, and once
        in each period: another spread of this name that begins in the same one enqueues nothing and answers 0. Periods
        are counted from 1970 in UTC, by the store's clock: one of 24 hours is a day in UTC.
        """
        refuse_in_loop("spread", "aspread")
        plan, begin = make_spread(name, period, batches, mode), start_moment(start)
        found = as_spread(plan, calls)
        if not found:
            return 0
        with spreading(name):
            stored = self.client.spread(plan, found, begin, self._store.read_clock().wait()).wait()
        return sum(job.created for job in stored)

    async def aspread(
        self,
        name: str,
        calls: Iterable[JobCall[Any]],
        *,
        period: Duration = "24h",
        batches: int | None = None,
        mode: Mode = "once",
        start: datetime | None = None,
    ) -> int:
        """The same for async code."""
        plan, begin = make_spread(name, period, batches, mode), start_moment(start)
        found = as_spread(plan, calls)
        if not found:
            return 0
        with spreading(name):
            stored = await self.client.spread(plan, found, begin, await self._store.read_clock())
        return sum(job.created for job in stored)

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

    # Workflows

    def workflow(
        self, name: str, *, on_failure: OnFailure = "stop", compensate: JobCall[Any] | None = None
    ) -> Workflow:
        """A new workflow: add steps to it, then enqueue it.

        If a job does not complete, no later step begins ("stop") or those after it begin all the same ("continue"),
        unless a step says otherwise. `compensate` is a call that is enqueued once the workflow has failed.
        """
        return Workflow(self.client, name, on_failure, compensate)

    def get_workflow(self, workflow_id: str) -> WorkflowHandle:
        """The workflow with this id, or UnknownWorkflow."""
        refuse_in_loop("get_workflow", "aget_workflow")
        handle = handle_of(self.client, check_id(workflow_id))
        known(self._store.read_workflow(handle.id).wait(), handle.id)
        return handle

    async def aget_workflow(self, workflow_id: str) -> WorkflowHandle:
        handle = handle_of(self.client, check_id(workflow_id))
        known(await self._store.read_workflow(handle.id), handle.id)
        return handle

    # Pausing

    def pause_queue(self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False) -> bool:
        """Give out no more jobs of this queue, to no worker anywhere, until it is resumed. What runs goes on.

        False when it was paused before. A queue that the store has never seen is an error, unless `force`.
        """
        refuse_in_loop("pause_queue", "apause_queue")
        return self.client.pause("queue", name, reason, by, force).wait()[0].changed

    async def apause_queue(
        self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False
    ) -> bool:
        return (await self.client.pause("queue", name, reason, by, force))[0].changed

    def resume_queue(self, name: str, *, by: str = "client") -> bool:
        """Let the jobs of a paused queue run again, at once. False when it was not paused."""
        refuse_in_loop("resume_queue", "aresume_queue")
        return self.client.resume("queue", name, by).wait()[0].changed

    async def aresume_queue(self, name: str, *, by: str = "client") -> bool:
        return (await self.client.resume("queue", name, by))[0].changed

    def pause_type(self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False) -> bool:
        """The same as pause_queue, for all jobs of one type, whatever queue they are in."""
        refuse_in_loop("pause_type", "apause_type")
        return self.client.pause("type", name, reason, by, force).wait()[0].changed

    async def apause_type(
        self, name: str, *, reason: str | None = None, by: str = "client", force: bool = False
    ) -> bool:
        return (await self.client.pause("type", name, reason, by, force))[0].changed

    def resume_type(self, name: str, *, by: str = "client") -> bool:
        """Let the jobs of a paused type run again, at once. False when it was not paused."""
        refuse_in_loop("resume_type", "aresume_type")
        return self.client.resume("type", name, by).wait()[0].changed

    async def aresume_type(self, name: str, *, by: str = "client") -> bool:
        return (await self.client.resume("type", name, by))[0].changed

    # Running

    async def run_worker(self, *, on_start: Any = None, **settings: Any) -> bool:
        """Run a worker here until it is stopped by a signal, or, with burst=True, until nothing is left.

        Answers whether it ended because it should be replaced by a fresh process (max_jobs, max_memory). `on_start` is
        called when the store has taken it: an id that another worker has, for instance, is refused before.

        Settings: concurrency, types, queues, capabilities, resources, worker_id, poll_interval,
        heartbeat_interval, shutdown_timeout, job_timeout, process_slots, max_jobs,
        max_memory, health, log_payloads, burst; and for when it leads: recovery_interval, start_timeout,
        start_check_interval, probe_interval, leader_lease. Those not given are from the config of from_config().
        """
        from penstock.worker.signals import stop_on_signals

        worker = self._worker(self.config.worker_settings() if self.config else {}, settings)
        with stop_on_signals(worker.stop):
            return await worker.run(on_start)

    async def run_coordinator(self, *, on_start: Any = None, **settings: Any) -> None:
        """Do the duties for all here until stopped by a signal, and run no jobs. The store must exist.

        `on_start` is called when the store has taken it.
        Settings: worker_id, heartbeat_interval, and those of run_worker() for when it leads.
        """
        from penstock.worker.coordinating import LoneCoordinator, refuse_others
        from penstock.worker.signals import stop_on_signals

        refuse_others(settings)
        configured = self.config.worker_settings() if self.config else {}
        checked = self._checked(configured | {"worker_id": None}, settings)  # The config names a worker, not this one.
        plans = self._plans(checked.schedules) if len(self.registry) else {}
        declared = {declaration.name: declaration.options for declaration in self.registry}
        coordinator = LoneCoordinator(self._store, checked, self._clock, lambda: install(self._store, plans), declared)
        with stop_on_signals(coordinator.stop):
            await coordinator.run(on_start)

    def _worker(self, configured: dict[str, Any], settings: dict[str, Any], store: Store | None = None) -> Worker:
        from penstock.worker.worker import Worker

        checked = self._checked(configured, settings)
        if checked.limits is not None:
            self.client.use_limits(checked.limits)
        plans = None if store is not None else self._plans(checked.schedules)
        return Worker(
            store or self._store, self.registry, self.client, checked, self._clock, self.lifespan, self._place,
            prepare=(lambda: install(self._store, plans)) if plans else None,
        )  # fmt: skip

    def _checked(self, configured: dict[str, Any], settings: dict[str, Any]) -> WorkerSettings:
        own = {name: value for name, value in self._own.items() if value is not None}
        return make_settings(**{**configured, **own, **settings})

    def _plans(self, configured: tuple[Configured, ...]) -> dict[str, Plan]:
        """All schedules that are declared, here and in the config."""
        for name in [one.name for one in configured if one.name in self._planned]:
            raise ConfigError(f"two schedules are declared as {name!r}, in the code and in the config; leave one")
        return self._planned | configured_plans(configured, self.client, self.registry)

    @contextmanager
    def _in_place(self, store: Store, clock: Clock) -> Iterator[None]:
        """Another store and clock for the length of a block: how penstock.testing keeps tests off the real jobs."""
        before = self._store, self._clock
        self._store, self._clock = store, clock
        self.client.use_clock(clock)
        try:
            yield
        finally:
            self._store, self._clock = before
            self.client.use_clock(self._clock)

    def close(self) -> None:
        """Close the store, as `with app` and `async with app` do. Jobs that were enqueued are safe in it."""
        self._store.close()

    def __enter__(self) -> Self:
        if is_in_loop():
            raise UsageError("`with app` was used inside a running event loop, which it would block: use `async with`")
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.close)  # What this loop has under way in the store is finished by this loop.

    def _place(self) -> tuple[str, str]:
        """The module and the name under which a child process can import this app: rather where its handlers are,
        which are imported anyway, than in a program that uses it.
        """
        handlers = [declaration.function.__module__ for declaration in self.registry if declaration.runner == "process"]
        for module in (*handlers, *sys.modules):
            values = getattr(sys.modules.get(module), "__dict__", {}) if module != "__main__" else {}
            for name, value in list(values.items()):
                if value is self:
                    return module, name
        raise ConfigError(
            "child processes cannot import this app: process handlers need an App that is a variable at the top level "
            "of a module, other than the script that was started"
        )
