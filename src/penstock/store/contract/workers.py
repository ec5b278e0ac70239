"""Workers: how they register, what they declare, and what they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from penstock.domain.flow.gates import Limit
from penstock.domain.options import (
    NO_RESOURCES,
    Options,
    Resources,
)
from penstock.store.call import Call
from penstock.store.contract.figures import Page
from penstock.store.contract.happened import Happened

STALE_HEARTBEATS = 3
"""A worker is silent for too long when it has missed so many."""


class RegisterWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that starts, and what it takes: None for types or queues means all.

    `declared` are the job types that its program knows, also those that it does not take; they are remembered for
    enqueues by name and for retries by operators. It counts as alive for `stale_after` seconds after a heartbeat.
    `limits` are those of its config; None if it has no say in them. `process` tells which process it is, to others on
    its machine; one that knows by it that the worker with its id is gone `replaces` that session, however silent it is.
    """

    worker_id: str
    host: str
    pid: int
    version: str
    slots: int
    stale_after: float
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ("general",)
    resources: Resources | None = None
    declared: dict[str, Options] = {}
    bell: int | None = None
    health: str | None = None
    limits: tuple[Limit, ...] | None = None
    process: str | None = None
    replaces: int | None = None
    app_version: str | None = None
    """Of the program whose handlers it runs, if that says so."""
    slots_of: dict[str, int] = {}
    """How many jobs of a type it can run at once, of those types where that is another number than its slots."""


WorkerStatus = Literal["active", "draining", "inactive", "lost"]


class HeartbeatWorker(msgspec.Struct, frozen=True):
    """`page` is what it has counted, if anything: it is stored also when the session is not known any more."""

    session: int
    status: WorkerStatus = "active"
    page: Page | None = None


class Heartbeat(msgspec.Struct, frozen=True):
    """`known` is False when the worker was declared lost: its leases are gone and it must register again."""

    known: bool


class ReadSignals(msgspec.Struct, frozen=True):
    """What the holder of these tokens should know."""

    session: int
    tokens: Sequence[int]


class Signals(msgspec.Struct, frozen=True):
    """`cancelled`: a person asked to stop them. `lost`: the tokens are no longer current.

    `status` and `slots` are the worker's own as they are stored: one that was told to drain is draining, and one that
    was resized has other slots than it registered with. None for a worker that is not known.
    """

    cancelled: list[int]
    lost: list[int]
    status: WorkerStatus | None = None
    slots: int | None = None


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as it registered, and how it is. `silent` is the time since its last heartbeat by the store's clock.

    It is negative when the store's clock went back. A `stale` worker is overdue and not yet declared lost. `health` is
    where it answers probes. One that did not answer them is `failing`: inactive until it does, or until the mark is
    over; of one that is `unreached` the leader has never had an answer, so it is not judged by that. `used` is what its
    jobs need of its resources. `process` and `app_version` are what it registered.
    """

    session: int
    id: str
    host: str
    pid: int
    version: str
    status: WorkerStatus
    slots: int
    types: tuple[str, ...] | None
    queues: tuple[str, ...] | None
    capabilities: tuple[str, ...]
    resources: Resources | None
    started_at: int
    heartbeat_at: int
    silent: float
    stale_after: float
    jobs: int
    health: str | None = None
    failing: bool = False
    unreached: bool = False
    process: str | None = None
    used: Resources = NO_RESOURCES
    app_version: str | None = None
    slots_of: dict[str, int] = {}

    @property
    def coordinates(self) -> bool:
        """Whether it only does the duties for all: it takes no type at all."""
        return self.types == ()

    @property
    def live(self) -> bool:
        """Whether it can be counted on: it runs or drains, and was heard of in time."""
        return self.status in ("active", "draining") and self.silent <= self.stale_after

    @property
    def stale(self) -> bool:
        return self.status in ("active", "draining") and self.silent > self.stale_after


class Registered(msgspec.Struct, frozen=True):
    """The session of a worker, and what happened to the jobs of the one in whose place it is; `silent` as Recovered."""

    session: int
    happened: Sequence[Happened] = ()
    silent: Sequence[float] = ()


class Workers(Protocol):
    """Workers as the store knows them."""

    def register_worker(self, params: RegisterWorker) -> Call[Registered]:
        """Make a worker known and answer its session. A live worker with the same id means WorkerRefused.

        A stale one with the same id, silent for longer than either of the two allows, is declared lost and its jobs
        are recovered first. So is the one that this one replaces, and one whose last heartbeat is as far in the future.
        """
        ...

    def heartbeat_worker(self, params: HeartbeatWorker) -> Call[Heartbeat]:
        """Say that the worker is alive, and its status. A lost worker stays lost (known is False).

        One that was told to drain stays draining until it ends.
        """
        ...

    def read_signals(self, params: ReadSignals) -> Call[Signals]:
        """Which of these attempts were asked to stop, which have lost their lease, and what the worker was told."""
        ...

    def list_workers(self) -> Call[list[WorkerInfo]]:
        """All workers that have not ended, and the latest thousand of all, the newest first, in one consistent view.

        Each says what it takes, and how long it has been silent by the store's clock.
        """
        ...

    def read_types(self) -> Call[dict[str, Options]]:
        """The job types that workers have declared in this store, with their options."""
        ...

    def read_limits(self) -> Call[list[Limit]]:
        """The limits that the config of the workers has set, sorted by origin."""
        ...
