"""The calls that the contract's methods answer: waited for in plain code, awaited in async code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.store import params as p
from penstock.store.postgres import claim, enqueue
from penstock.store.postgres.guests import GuestCall
from penstock.store.postgres.link import Link, Role
from penstock.store.postgres.steps import Operation
from penstock.store.postgres.wiring import settle_steps

if TYPE_CHECKING:
    from penstock.store.postgres.store import PostgresStore

T = TypeVar("T")


class StoreCall(Generic[T]):
    """An operation on the store's own connections."""

    __slots__ = ("_operation", "_role", "_store")

    def __init__(self, store: PostgresStore, operation: Operation[T], role: Role) -> None:
        self._store = store
        self._operation = operation
        self._role = role

    def wait(self) -> T:
        self._store._wiring.refuse()
        return self._store._plain.run(self._operation, self._role)

    def __await__(self) -> Generator[Any, None, T]:
        self._store._wiring.refuse()
        return (yield from self._store.looped().run(self._operation, self._role).__await__())


class EnqueueCall:
    """An enqueue, together with those of others that come while one is under way."""

    __slots__ = ("_jobs", "_store")

    def __init__(self, store: PostgresStore, jobs: list[p.NewJob]) -> None:
        self._store = store
        self._jobs = jobs

    def wait(self) -> list[p.Enqueued]:
        self._store._wiring.refuse()
        return self._store._plain.enqueue(self._jobs, self._store.enqueue_operation)

    def __await__(self) -> Generator[Any, None, list[p.Enqueued]]:
        self._store._wiring.refuse()
        return (yield from self._store.looped().enqueue(self._jobs, self._store.enqueue_operation).__await__())


class JoinCall(Generic[T]):
    """An operation in the caller's transaction, after the lanes that it needs were made."""

    __slots__ = ("_joined", "_routes", "_store")

    def __init__(self, store: PostgresStore, joined: GuestCall[T], routes: set[enqueue.Route]) -> None:
        self._store = store
        self._joined = joined
        self._routes = routes

    def wait(self) -> T:
        self._store._wiring.refuse()
        if self._routes:
            self._store.lanes(self._routes).wait()
            self._store.made(self._routes)
        return self._joined.wait()

    def __await__(self) -> Generator[Any, None, T]:
        self._store._wiring.refuse()
        if self._routes:
            yield from self._store.lanes(self._routes).__await__()
            self._store.made(self._routes)
        return (yield from self._joined.__await__())


class ClaimCall:
    """A claim. What an earlier one took without being able to say so is given back first."""

    __slots__ = ("_params", "_store")

    def __init__(self, store: PostgresStore, params: p.ClaimJobs) -> None:
        self._store = store
        self._params = params

    def _operation(self) -> Operation[p.Claimed]:
        params = self._params
        return Operation(lambda: claim.claim_steps(params), alone=True, durable=False, seconds=self._store._brief)

    def wait(self) -> p.Claimed:
        self._store._wiring.refuse()
        return self._store._plain.run(self._operation(), Role.CLAIM)

    def __await__(self) -> Generator[Any, None, p.Claimed]:
        return (yield from self._claim().__await__())

    async def _claim(self) -> p.Claimed:
        wiring, session = self._store._wiring, self._params.session
        wiring.refuse()

        def lost(link: Link) -> None:
            wiring.doubt(session, link)

        async def settle() -> None:
            doubt = wiring.doubts.get(session)
            if doubt is not None and doubt.open:
                await self._store._write(lambda: settle_steps(session, doubt))
                doubt.open = False

        # Settled while the connection for claims is held: no other claim of this worker is under way.
        claimed = await self._store.looped().run(self._operation(), Role.CLAIM, lost, settle)
        wiring.claimed(session, [job.token for job in claimed.jobs])
        return claimed


class ThreadCall(Generic[T]):
    """Something that blocks: in the caller's thread, or in a thread of its own for async callers."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work

    def wait(self) -> T:
        return self._work()

    def __await__(self) -> Generator[Any, None, T]:
        return (yield from asyncio.to_thread(self._work).__await__())
