"""A declared job as the user sees it: call it, enqueue it, bind it. Type checkers see the handler's own parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from penstock.client.client import Client, JobCall, JobHandle, enqueue_options
from penstock.declare.chain import Calls, TakesNothing, TakesResult, calls_with_result, check_function
from penstock.domain.duration import Duration
from penstock.domain.errors import ConfigError
from penstock.domain.options import Backoff, Concurrency, NoWorker, Options, RateLimit, Resources, Tenant, Unique
from penstock.domain.registry import Declaration, FollowUp, Runner
from penstock.worker.running.batches import Failed
from penstock.worker.running.context import BatchContext, Context
from penstock.worker.running.handler import Handler

C = ParamSpec("C")
P = ParamSpec("P")
X = TypeVar("X")
R = TypeVar("R")
D = TypeVar("D")
T = TypeVar("T")
Co = Coroutine[Any, Any, R]


class TypeOptions(TypedDict, total=False):
    """Options that a type declares as its defaults and that an enqueue may override."""

    queue: str
    priority: int
    capability: str
    resources: Resources
    attempts: int
    snoozes: int
    backoff: Backoff
    timeout: Duration | None
    ttl: Duration | None
    remove_on_complete: bool | int
    remove_on_fail: bool | int
    tenant: Tenant | None
    tags: Iterable[str]
    unique: Unique | None
    rate_limit: RateLimit | None
    limit: Concurrency | None


class DeclareOptions(TypeOptions, total=False):
    """Options of a type. Those that are here are of the type alone."""

    name: str | None
    aliases: Iterable[str]
    runner: Runner | None
    no_worker: NoWorker
    worker_concurrency: int | None


class EnqueueOptions(TypeOptions, total=False):
    """Options of one enqueue."""

    delay: Duration | None
    at: datetime | None
    id: str | None


class Using(Generic[P, R]):
    """A job type with options for the next enqueue, kept out of the call's own parameters."""

    def __init__(self, client: Client, declaration: Declaration, options: Options, conn: object | None = None) -> None:
        self._client = client
        self.declaration = declaration
        self._spec = client.spec(declaration.name, options)
        self._job_id = options.job_id
        self._conn = conn

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> JobCall[R]:
        """The call with these arguments, not enqueued: for enqueue_many() and follow-ups."""
        if self._conn is not None:
            raise ConfigError(
                f"a call of {self.declaration.name} made by bind() is stored later, so conn= has no place here: give "
                "it to what stores it, such as enqueue_many(…, conn=conn)"
            )
        return self._client.call(self.declaration, self._spec, self._job_id, args, kwargs)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Store one job. When this returns, it is committed. For plain code; async code uses aenqueue()."""
        call = self._client.call(self.declaration, self._spec, self._job_id, args, kwargs)
        return self._client.enqueue([call], self._conn)[0]

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Store one job, from async code."""
        call = self._client.call(self.declaration, self._spec, self._job_id, args, kwargs)
        return (await self._client.aenqueue([call], self._conn))[0]

    def _following(self, client: Client, name: str) -> Callable[[Any], Calls]:
        """The call with the result of a job of the type `name`."""
        if self._client is not client:
            raise ConfigError(f"{self.declaration.name} is a job of another App: what follows {name} is of its own")
        if self._conn is not None or self._job_id is not None:
            raise ConfigError(
                f"{name}.then() makes a new job with every completion, stored together with it: leave conn= and id= out"
            )
        return calls_with_result(name, self.declaration, self.bind)


class JobType(Using[P, R], Generic[C, X, P, R]):
    """A declared job. Calling it runs the function; enqueue() stores a job for a worker."""

    def __init__(self, client: Client, declaration: Declaration) -> None:
        super().__init__(client, declaration, declaration.options)
        self.name = declaration.name
        functools.update_wrapper(self, declaration.function)

    def __repr__(self) -> str:
        return f"<job type {self.name!r}>"

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> X:
        result: X = self.declaration.function(*args, **kwargs)
        return result

    def then(
        self,
        follow_up: TakesResult[R] | TakesNothing | Callable[[R], Calls],
        /,
        *,
        when: Callable[[R], object] | None = None,
    ) -> None:
        """Enqueue a follow-up with every completion of a job of this type: both are stored or neither.

        A job type is enqueued with the result as its only argument. A function of the result answers what to enqueue:
        a call made by bind(), a list of them, or None. `when` is asked first, with the result. If one of them raises,
        the attempt has failed. The follow-ups have the tenant and the tags of the job, unless they have their own.
        """
        if when is not None:
            check_function(self.name, "when=", when)
        self.declaration.follow_ups.append(FollowUp(self._maker(follow_up), when))

    def _maker(self, follow_up: Any) -> Callable[[Any], Calls]:
        if isinstance(follow_up, Using):
            return follow_up._following(self._client, self.name)
        check_function(self.name, "function", follow_up)
        maker: Callable[[Any], Calls] = follow_up
        return maker

    def using(self, *, conn: object | None = None, **options: Unpack[EnqueueOptions]) -> Using[P, R]:
        """Options for one enqueue: using(delay='5m', priority=10).enqueue(…).

        `conn` joins a transaction of yours: the job exists if and only if that commits. It is what app.transaction()
        gives, or on PostgreSQL also a connection of psycopg, asyncpg or psycopg2, or a Connection or Session of
        SQLAlchemy.
        """
        return Using(self._client, self.declaration, enqueue_options(self.declaration.options, dict(options)), conn)


class Declare(Protocol):
    """What @app.job(...) returns: give it the handler. A class; or async or plain, with or without a Context."""

    @overload
    def __call__(self, function: type[Handler[D, R]]) -> JobType[[Context, D], Any, [D], R]: ...
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


class DeclareBatch(Protocol):
    """What @app.batch_job(...) returns: give it the handler. Async or plain, with or without a BatchContext."""

    @overload
    def __call__(
        self, function: Callable[[BatchContext, list[T]], Co[Sequence[R | Failed]]]
    ) -> JobType[[BatchContext, list[T]], Co[Sequence[R | Failed]], [T], R]: ...
    @overload
    def __call__(
        self, function: Callable[[list[T]], Co[Sequence[R | Failed]]]
    ) -> JobType[[list[T]], Co[Sequence[R | Failed]], [T], R]: ...
    @overload
    def __call__(
        self, function: Callable[[BatchContext, list[T]], Sequence[R | Failed]]
    ) -> JobType[[BatchContext, list[T]], Sequence[R | Failed], [T], R]: ...
    @overload
    def __call__(
        self, function: Callable[[list[T]], Sequence[R | Failed]]
    ) -> JobType[[list[T]], Sequence[R | Failed], [T], R]: ...
