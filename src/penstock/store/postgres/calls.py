"""The calls that the contract's methods answer: waited for in plain code, awaited in async code."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from penstock.store import contract as p
from penstock.store.postgres.callers.guests import GuestCall
from penstock.store.postgres.connection.connections import Connections
from penstock.store.postgres.connection.database import settle_steps
from penstock.store.postgres.connection.link import Link, Role
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.hot.claim import claim_steps
from penstock.store.postgres.hot.enqueue import Route, lane_steps

T = TypeVar("T")


class StoreCall(Generic[T]):
    """An operation on the store's own connections."""

    __slots__ = ("_connections", "_operation", "_role")

    def __init__(self, connections: Connections, operation: Operation[T], role: Role) -> None:
        self._connections = connections
        self._operation = operation
        self._role = role

    def wait(self) -> T:
        return self._connections.plain().pool.run(self._operation, self._role)

    def __await__(self) -> Generator[Any, None, T]:
        return (yield from self._connections.looped().pool.run(self._operation, self._role).__await__())


class EnqueueCall:
    """An enqueue, together with those of others that come while one is under way."""

    __slots__ = ("_connections", "_jobs")

    def __init__(self, connections: Connections, jobs: list[p.NewJob]) -> None:
        self._connections = connections
        self._jobs = jobs

    def wait(self) -> list[p.Enqueued]:
        return self._connections.plain().together.enqueue(self._jobs)

    def __await__(self) -> Generator[Any, None, list[p.Enqueued]]:
        return (yield from self._connections.looped().together.enqueue(self._jobs).__await__())


class JoinCall(Generic[T]):
    """An operation in the caller's transaction, after the lanes that it needs and that are not `made` were made.

    They are made apart from the caller's transaction: while that is open, others would wait for its end.
    """

    __slots__ = ("_connections", "_joined", "_made", "_routes")

    def __init__(self, connections: Connections, joined: GuestCall[T], routes: set[Route], made: set[Route]) -> None:
        self._connections = connections
        self._joined = joined
        self._routes = routes - made
        self._made = made

    def _lanes(self) -> StoreCall[None]:
        seconds = self._connections.database.address.timeout
        operation = Operation(lambda seen: lane_steps(list(self._routes)), alone=True, seconds=seconds)
        return StoreCall(self._connections, operation, Role.WRITE)

    def wait(self) -> T:
        self._connections.database.refuse()
        if self._routes:
            self._lanes().wait()
            self._made.update(self._routes)
        return self._joined.wait()

    def __await__(self) -> Generator[Any, None, T]:
        self._connections.database.refuse()
        if self._routes:
            yield from self._lanes().__await__()
            self._made.update(self._routes)
        return (yield from self._joined.__await__())


class ClaimCall:
    """A claim. What an earlier one took without being able to say so is given back first."""

    __slots__ = ("_connections", "_params")

    def __init__(self, connections: Connections, params: p.ClaimJobs) -> None:
        self._connections = connections
        self._params = params

    def _operation(self) -> Operation[p.Claimed]:
        seconds = self._connections.database.brief
        return Operation(partial(claim_steps, self._params), alone=True, durable=False, seconds=seconds)

    def wait(self) -> p.Claimed:
        return self._connections.plain().pool.run(self._operation(), Role.CLAIM)

    def __await__(self) -> Generator[Any, None, p.Claimed]:
        # Settled while the connection for claims is held: no other claim of this worker is under way.
        given_back: list[p.Happened] = []
        settle = partial(self._settle, given_back)
        run = self._connections.looped().pool.run(self._operation(), Role.CLAIM, self._lost, settle)
        claimed = yield from run.__await__()
        self._connections.database.claimed(self._params.session, [job.token for job in claimed.jobs])
        if given_back:
            return msgspec.structs.replace(claimed, happened=(*given_back, *claimed.happened))
        return claimed

    def _lost(self, link: Link) -> None:
        self._connections.database.doubt(self._params.session, link)

    async def _settle(self, given_back: list[p.Happened]) -> None:
        database, session = self._connections.database, self._params.session
        doubt = database.doubts.get(session)
        if doubt is not None and doubt.open:
            operation = Operation(lambda seen: settle_steps(session, doubt), seconds=database.address.timeout)
            told: list[p.Happened] = await StoreCall(self._connections, operation, Role.WRITE)
            given_back += told
            doubt.open = False
