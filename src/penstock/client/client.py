"""The enqueue side: turns calls into stored jobs, and gives handles to follow them.

One path for plain and async code: each operation is prepared once and then waited for or awaited.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from penstock.client.waiting import WaitForEnd as WaitForEnd
from penstock.domain import errors
from penstock.domain.clock import Clock
from penstock.domain.current_call import current_call
from penstock.domain.duration import Duration
from penstock.domain.flow.gates import Declarers, Gate, Limit, Wholes, fill, gates_of, names_tenant
from penstock.domain.flow.pauses import PauseKind
from penstock.domain.ids import check_id
from penstock.domain.job import FINAL, Job, State
from penstock.domain.options import DEFAULTS, Options, Unique, check_by, check_name, make_options
from penstock.domain.payload import check_plain, decode_json, encode_json, from_plain
from penstock.domain.registry import Declaration, Registry
from penstock.domain.schedule.spread import Spread
from penstock.store.call import Call
from penstock.store.contract import (
    CancelJob,
    Cancelled,
    Claim,
    Enqueued,
    EnqueueJobs,
    JobSpec,
    NewJob,
    PauseWork,
    ResumeWork,
    Store,
    Switched,
    WholeKey,
    job_spec,
)
from penstock.system.ids import IdSource

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

TYPES_CACHED_SECONDS = 30.0
DOUBTED_MAX = 1000


log = logging.getLogger("penstock.client")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if one is."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, sorted(known), n=1)), None)


class JobCall(msgspec.Struct, Generic[R_co], frozen=True, gc=False):
    """A call of a job type with its arguments and options, not enqueued yet. Made by bind()."""

    payload: str
    spec: JobSpec
    job_id: str | None = None
    result_type: Any = None
    gates: tuple[Gate, ...] = ()

    @property
    def type(self) -> str:
        return self.spec.type


class Client:
    """Stores jobs and reads them back, through the store's contract."""

    def __init__(self, store: Callable[[], Store], registry: Registry, clock: Clock) -> None:
        self._store = store
        self._registry = registry
        self._wholes: Wholes | None = None
        self._declarers = (0, Declarers(()))
        self._doubted: set[str] = set()
        self._failing_queues: frozenset[str] = frozenset()
        self._plain: dict[str, tuple[Options, JobSpec]] = {}
        """Of enqueues by name without options of their own: most are."""
        self.use_clock(clock)

    def use_clock(self, clock: Clock) -> None:
        """Take ids and ages from this clock; what was remembered by another one is forgotten."""
        self._clock = clock
        self._ids = IdSource(clock)
        self._types: tuple[float, dict[str, Options]] = (-TYPES_CACHED_SECONDS, {})

    def use_limits(self, limits: Iterable[Limit]) -> None:
        """Put new jobs of a queue or a type that the config limits as a whole under that limit."""
        self._wholes = Wholes(limits) or None

    def use_failing_queues(self, names: Iterable[str]) -> None:
        """Let new jobs of these queues end at once while no live worker can run them."""
        self._failing_queues = frozenset(names)
        self._plain.clear()

    @property
    def store(self) -> Store:
        return self._store()

    def new_id(self) -> str:
        return self._ids.next_id()

    # Preparing

    def spec(self, name: str, options: Options) -> JobSpec:
        """What is stored of a job's options; whether it waits for a worker is up to its queue, too."""
        spec = job_spec(name, options)
        return msgspec.structs.replace(spec, no_worker="fail") if spec.queue in self._failing_queues else spec

    def call(
        self, declaration: Declaration, spec: JobSpec, job_id: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> JobCall[Any]:
        """A checked call of a declared type."""
        signature = declaration.signature
        payload = signature.encode(declaration.name, signature.bind(declaration.name, args, kwargs))
        return self._filled_call(payload, spec, job_id, declaration)

    def call_by_name(
        self, name: str, payload: Mapping[str, Any], given: dict[str, Any], types: dict[str, Options]
    ) -> JobCall[Any]:
        """A call of a type that this process may not have: by its declaration here, else as workers declared it."""
        check_name(name, "job name")
        if not isinstance(payload, Mapping):
            raise errors.PayloadError(
                f"the payload of {name} is a {type(payload).__name__}: give the handler's parameters by name, as a dict"
            )
        declaration = self._registry.find(name)
        if declaration is None:
            text = encode_json(payload, f"the payload of {name}")
            check_plain(dict(payload), f"the payload of {name}")
            if name not in types:
                self._doubt(name, types)
            options = enqueue_options(types.get(name, DEFAULTS), given)
            return self._filled_call(text, self.spec(name, options), options.job_id, None, types)
        text = declaration.signature.encode(name, dict(payload))
        if not given:
            return self._filled_call(text, self._plain_spec(declaration), None, declaration)
        options = enqueue_options(declaration.options, given)
        return self._filled_call(text, self.spec(declaration.name, options), options.job_id, declaration)

    def _plain_spec(self, declaration: Declaration) -> JobSpec:
        options, spec = self._plain.get(declaration.name, (None, None))
        if spec is None or options is not declaration.options:
            spec = self.spec(declaration.name, declaration.options)
            self._plain[declaration.name] = declaration.options, spec
        return spec

    def _filled_call(
        self,
        payload: str,
        spec: JobSpec,
        job_id: str | None,
        declaration: Declaration | None,
        types: Mapping[str, Options] = MappingProxyType({}),
    ) -> JobCall[Any]:
        """The call, with its keys filled from the payload; defaults of the handler count too."""
        result_type = None if declaration is None else declaration.result_type
        if spec.limit is None and spec.rate_limit is None and spec.unique is None:
            return JobCall(payload, spec, job_id, result_type)
        what = f"the payload of {spec.type}"
        spec = _with_tenant(spec)
        text = payload if declaration is None else encode_json(declaration.signature.decode(payload), what)
        fields = decode_json(text)
        declarers = self._declared() if declaration is not None else Declarers(types.items())
        gates = gates_of(spec, fields, what, declarers)
        return JobCall(payload, _filled_unique(spec, fields, what), job_id, result_type, gates)

    def know(self, name: str) -> None:
        """Whoever enqueues this says himself what is doubtful about the name."""
        self._doubted.add(name)

    def _doubt(self, name: str, types: Mapping[str, Options]) -> None:
        """A name that nobody has declared may be that of another program; one that looks like a known one is told of,
        once.
        """
        near = nearest(name, {*types, *self._registry.names()}) if name not in self._doubted else None
        if near is not None and len(self._doubted) < DOUBTED_MAX:
            self._doubted.add(name)
            log.warning("a job is enqueued as %r, which neither this app nor a worker has declared; did you mean %r?",
                        name, near)  # fmt: skip

    def _declared(self) -> Declarers:
        size = self._registry.size
        if self._declarers[0] != size:
            self._declarers = size, Declarers((one.name, one.options) for one in self._registry)
        return self._declarers[1]

    def new_jobs(self, calls: Sequence[JobCall[Any]]) -> list[NewJob]:
        ids = self._ids.next_ids(len(calls))
        return [
            NewJob(
                call.job_id or new_id, call.payload, call.spec, self._all_gates(call) if self._wholes else call.gates
            )
            for call, new_id in zip(calls, ids, strict=True)
        ]

    def follow_up(self, call: JobCall[Any], parent: Claim) -> NewJob:
        """The job that is stored with the completion of its parent, whose tenant and tags it has unless it has own."""
        return self.child(call, parent.id, parent)

    def child(self, call: JobCall[Any], parent: str, heir_of: Claim | None = None) -> NewJob:
        """A job that belongs to another, or to a workflow; with the tenant and tags of the one that made it, unless it
        has own.
        """
        spec = call.spec
        if heir_of is None:
            spec = msgspec.structs.replace(spec, parent=parent)
        else:
            tenant, tags = spec.tenant or heir_of.tenant, spec.tags or heir_of.tags or ()
            spec = msgspec.structs.replace(spec, parent=parent, tenant=tenant, tags=tags)
        return NewJob(call.job_id or self._ids.next_id(), call.payload, spec, self._all_gates(call))

    def refuse_foreign(self, call: JobCall[Any]) -> None:
        refuse_foreign(call, self._registry)

    def _all_gates(self, call: JobCall[Any]) -> tuple[Gate, ...]:
        return call.gates + self._wholes.gates_of(call.spec.type, call.spec.queue) if self._wholes else call.gates

    # Enqueueing

    def enqueue(self, calls: Sequence[JobCall[Any]], conn: object | None) -> list[JobHandle[Any]]:
        refuse_in_loop("enqueue", "aenqueue")
        jobs = self.new_jobs(calls)
        try:
            stored = self.store.enqueue_jobs(EnqueueJobs(jobs, conn)).wait()
        except errors.CommitUncertain as error:
            _uncertain(error, jobs)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(f"penstock: interrupted while enqueueing; it may have been stored: {_named(jobs)}")
            raise
        return self._handles(stored, calls)

    async def aenqueue(self, calls: Sequence[JobCall[Any]], conn: object | None) -> list[JobHandle[Any]]:
        jobs = self.new_jobs(calls)
        try:
            stored = await self.store.enqueue_jobs(EnqueueJobs(jobs, conn))
        except errors.CommitUncertain as error:
            _uncertain(error, jobs)
        return self._handles(stored, calls)

    def spread(
        self, spread: Spread, calls: Sequence[JobCall[Any]], start_us: int | None, now_us: int
    ) -> Call[list[Enqueued]]:
        """Store the calls over the period that begins now or at `start_us`, unless that was done before."""
        spread.refuse_too_many(len(calls))
        start = now_us if start_us is None else start_us
        key = WholeKey(spread.key(start), spread.held_seconds(start, now_us))
        specs: dict[tuple[int, int], JobSpec] = {}
        jobs = []
        for number, due in spread.moments(len(calls), start):
            call = calls[number]
            spec = specs.get((id(call.spec), due))
            if spec is None:
                spec = specs[id(call.spec), due] = msgspec.structs.replace(call.spec, at=due)
            jobs.append(NewJob(call.job_id or self._ids.next_id(), call.payload, spec, self._all_gates(call)))
        return self.store.enqueue_jobs(EnqueueJobs(jobs, whole=key))

    def _handles(self, stored: list[Enqueued], calls: Sequence[JobCall[Any]]) -> list[JobHandle[Any]]:
        return [JobHandle(new.id, new.created, self, call.result_type) for new, call in zip(stored, calls, strict=True)]

    # Types declared by workers, for enqueues by name

    def needs_types(self, name: str) -> bool:
        """Whether an enqueue by this name has to look up how workers declared it."""
        fresh = self._clock.monotonic() - self._types[0] < TYPES_CACHED_SECONDS
        return self._registry.find(name) is None and not fresh

    def remember_types(self, types: dict[str, Options]) -> None:
        self._types = (self._clock.monotonic(), types)

    @property
    def types(self) -> dict[str, Options]:
        return self._types[1]

    # Following

    def get(self, job_id: str) -> Call[Job | None]:
        return self.store.read_job(check_id(job_id))

    def handle(self, job_id: str, job: Job | None) -> JobHandle[Any]:
        if job is None:
            raise errors.UnknownJob(
                f"no job has the id {job_id}; it never existed in this store, or retention removed it"
            )
        declaration = self._registry.find(job.type)
        return JobHandle(job.id, False, self, declaration.result_type if declaration else None)

    # Pausing

    def pause(self, kind: PauseKind, name: str, reason: str | None, by: str, force: bool) -> Call[list[Switched]]:
        force = force or self._declares(kind, name)
        actor = check_by(by)
        return self.store.pause_work(PauseWork(kind=kind, names=(name,), actor=actor, reason=reason, force=force))

    def resume(self, kind: PauseKind, name: str, by: str) -> Call[list[Switched]]:
        force = self._declares(kind, name)
        return self.store.resume_work(ResumeWork(kind=kind, names=(name,), actor=check_by(by), force=force))

    def _declares(self, kind: PauseKind, name: str) -> bool:
        """What this program declares is known to it, also before a worker has told the store."""
        if kind == "type":
            return self._registry.find(name) is not None
        return any(declaration.options.queue == name for declaration in self._registry)


class JobHandle(msgspec.Struct, Generic[R_co], frozen=True, eq=False, gc=False):
    """A stored job: follow it, wait for its result, cancel it."""

    id: str
    created: bool
    _client: Client
    _result_type: Any = None

    def __repr__(self) -> str:
        return f"<job {self.id}>"

    def read(self) -> Job:
        """The whole job as it is now."""
        refuse_in_loop("read", "aread")
        return self._known(self._client.get(self.id).wait())

    async def aread(self) -> Job:
        return self._known(await self._client.get(self.id))

    def _known(self, job: Job | None) -> Job:
        if job is None:
            raise errors.ResultGone(
                f"job {self.id} is not in the store: it ended and was removed, or the transaction that stored it was "
                "rolled back, or a restore of the store has undone it"
            )
        return job

    def state(self) -> State:
        refuse_in_loop("state", "astate")
        return self.read().state

    async def astate(self) -> State:
        return (await self.aread()).state

    def result(self, timeout: Duration | None = None) -> R_co:
        """Wait for the end and return what the handler returned, or raise JobFailed, JobCancelled or JobExpired."""
        refuse_in_loop("result", "aresult")
        waiting = WaitForEnd(self._client.store, timeout)
        while True:
            if waiting.changed():
                job = self.read()
                if job.state in FINAL:
                    return self._outcome(job)
            time.sleep(waiting.pause(f"job {self.id}"))

    async def aresult(self, timeout: Duration | None = None) -> R_co:
        import asyncio

        waiting = WaitForEnd(self._client.store, timeout)
        while True:
            if waiting.changed():
                job = await self.aread()
                if job.state in FINAL:
                    return self._outcome(job)
            await asyncio.sleep(waiting.pause(f"job {self.id}"))

    def _outcome(self, job: Job) -> R_co:
        if job.state is State.COMPLETED:
            result: R_co = job.result if self._result_type is None else from_plain(self._result_type, job.result)
            return result
        if job.state is State.CANCELLED:
            raise errors.JobCancelled(f"job {job.id} ({job.type}) was cancelled: {job.reason}")
        if job.state is State.EXPIRED:
            raise errors.JobExpired(f"job {job.id} ({job.type}) expired: {job.reason}")
        what = f"{job.error.type}: {job.error.message}" if job.error else "no error was stored"
        raise errors.JobFailed(f"job {job.id} ({job.type}) is dead: {job.reason}; {what}", job.error)

    def cancel(self) -> Cancelled:
        """Cancel: at once while it waits; a running one is asked to stop. Says what it found."""
        refuse_in_loop("cancel", "acancel")
        return _found(self._client.store.cancel_job(CancelJob(self.id)).wait())

    async def acancel(self) -> Cancelled:
        return _found(await self._client.store.cancel_job(CancelJob(self.id)))


def _found(cancelled: Cancelled) -> Cancelled:
    """What whoever cancels wants to know: what happened is for those who observe."""
    return Cancelled(cancelled.before, cancelled.after)


def _with_tenant(spec: JobSpec) -> JobSpec:
    """A job whose keys are one per tenant, and that has none, is of the tenant of the job whose handler makes it."""
    here = current_call() if spec.tenant is None else None
    if here is None or here.tenant is None:
        return spec
    keys = [keyed.key for keyed in (spec.limit, spec.rate_limit, spec.unique) if keyed is not None]
    needed = (spec.unique is not None and spec.unique.scope == "tenant") or any(map(names_tenant, keys))
    return msgspec.structs.replace(spec, tenant=here.tenant) if needed else spec


def _filled_unique(spec: JobSpec, fields: Mapping[str, Any], what: str) -> JobSpec:
    unique = spec.unique
    if unique is None:
        return spec
    if unique.scope == "tenant" and spec.tenant is None:
        raise errors.ConfigError(
            f"the unique key {unique.key!r} of {spec.type} is one per tenant, and the job has none: "
            "give it one, as in using(tenant=Tenant('acme')), or another scope"
        )
    key = fill(unique.key, fields, spec.tenant, what)
    return spec if key == unique.key else msgspec.structs.replace(spec, unique=Unique(key, unique.per, unique.scope))


def enqueue_options(base: Options, given: dict[str, Any]) -> Options:
    """Options of one enqueue: all but those that only a type can have."""
    for name in ("no_worker", "worker_concurrency"):
        if name in given:
            raise errors.ConfigError(f"{name}= is an option of the job's type, not of one enqueue; give it to @app.job")
    return make_options(base, **given)


def refuse_foreign(call: JobCall[Any], registry: Registry) -> None:
    """A call that another App has made: no worker of this one would know it."""
    if registry.find(call.type) is None:
        raise errors.ConfigError(
            f"{call.type} is a job of another App, and what a job or a workflow of this one makes is of its own; "
            "enqueue it by itself, or declare it here"
        )


def refuse_in_loop(name: str, instead: str) -> None:
    """Plain calls block; in a running event loop they would stop everything else there."""
    if is_in_loop():
        raise errors.UsageError(
            f"{name}() was called inside a running event loop, which it would block: use `await {instead}()`"
        )


def is_in_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def as_calls(calls: Iterable[JobCall[Any]], what: str = "enqueue_many") -> list[JobCall[Any]]:
    found = list(calls)
    for call in found:
        if not isinstance(call, JobCall):
            raise errors.UsageError(f"{what}() takes calls made by bind(), not {type(call).__name__}: job.bind(...)")
    return found


def as_spread(spread: Spread, calls: Iterable[JobCall[Any]]) -> list[JobCall[Any]]:
    """The calls, if they leave to the spread what it decides: when they are due, and how often there is one."""
    found = as_calls(calls, "spread")
    for call in found:
        if call.spec.delay or call.spec.at is not None:
            raise errors.ConfigError(f"spread() decides when {call.type} is due: leave delay= and at= out of using()")
        if spread.mode == "each" and (call.job_id is not None or call.spec.unique is not None):
            what, fix = ("an id", "leave id= out") if call.job_id else ("a unique key", "add using(unique=None)")
            raise errors.ConfigError(
                f"mode='each' makes a job of {call.type} in every batch, and {what} of its own allows only one: {fix}"
            )
    return found


@contextmanager
def spreading(name: str) -> Iterator[None]:
    """Says what to do when it is not known whether a spread was stored."""
    try:
        yield
    except errors.CommitUncertain as error:
        raise errors.EnqueueUncertain(
            f"{error}. Spread {name!r} again: what was stored is not stored twice in one period"
        ) from error


def _named(jobs: Sequence[NewJob]) -> str:
    return ", ".join(job.id for job in jobs[:5]) + (f" and {len(jobs) - 5} more" if len(jobs) > 5 else "")


def _uncertain(error: errors.StoreError, jobs: Sequence[NewJob]) -> NoReturn:
    ids = tuple(job.id for job in jobs)
    raise errors.EnqueueUncertain(
        f"{error}. Enqueue again with the same id (using(id=…)): it makes at most one job. Ids: {_named(jobs)}", ids
    ) from error
