"""What people ask and do: looking, cancelling, dead letters, and the store itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from penstock.domain.job import Job, State
from penstock.domain.options import Options, Resources


class CancelJob(msgspec.Struct, frozen=True):
    id: str
    actor: str = "client"


class Cancelled(msgspec.Struct, frozen=True):
    """`before` is the state in which the cancel found the job; `after` is the state that it has now.

    A waiting job is cancelled at once. A claimed or running one keeps its state and is asked to stop.
    """

    before: State
    after: State


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs. Nothing given means all. `tenant` is the organisation, `workspace` one of its workspaces, `parent` is
    the job that enqueued them, or their workflow.
    """

    type: str | None = None
    queue: str | None = None
    tenant: str | None = None
    workspace: str | None = None
    tag: str | None = None
    parent: str | None = None


Sort = Literal["created", "finished"]

LOOKED_AT_MAX = 10_000
"""Of jobs that are asked for by a key, or by their end and something else, no more of the newest are looked at."""


class ListJobs(JobFilter, frozen=True, kw_only=True):
    """Jobs, newest first, or with `sort` those that have ended, the last to end first. `before` is the id of the last
    job of the page before. `key`: those with this key of a limit, and the one that holds it as unique key; not those
    that a workflow has only planned.
    """

    states: frozenset[State] | None = None
    key: str | None = None
    sort: Sort = "created"
    before: str | None = None
    limit: int = 20

    @property
    def narrowed(self) -> bool:
        """Whether there is more to it than the states, the key and the page."""
        return any(getattr(self, name) is not None for name in JobFilter.__struct_fields__)

    @property
    def looks_at(self) -> int:
        """How many of those with the key, or that ended in a state, are looked at."""
        return max(LOOKED_AT_MAX, self.limit) if self.narrowed or self.key is not None else self.limit


class CountJobs(JobFilter, frozen=True, kw_only=True):
    """How many there are. With a filter, or by tenant or capability, every job is looked at; otherwise the pointers are
    enough.
    """

    by_tenant: bool = False
    by_capability: bool = False


ALL_JOBS = CountJobs()


class Count(msgspec.Struct, frozen=True):
    """`tenant` and `capability` are told only where they were asked for."""

    type: str
    queue: str
    state: State
    jobs: int
    tenant: str | None = None
    capability: str | None = None


class CountWaiting(msgspec.Struct, frozen=True):
    """`limit`: where counting a lane stops, so that millions of waiting jobs cost no more than thousands."""

    limit: int = 10_000


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A lane: the pending jobs that ask for the same. `jobs` at the limit means that many or more."""

    type: str
    queue: str
    capability: str
    resources: Resources
    jobs: int
    oldest_due_at: int


class DeadFilter(JobFilter, frozen=True, kw_only=True):
    """Which dead letters. Nothing given means all; those retried before are left out unless asked for."""

    ids: tuple[str, ...] | None = None
    error: str | None = None
    before_us: int | None = None
    retried: bool = False


class ListDead(msgspec.Struct, frozen=True, kw_only=True):
    filter: DeadFilter = DeadFilter()
    limit: int = 20
    offset: int = 0


class DeadPage(msgspec.Struct, frozen=True):
    jobs: list[Job]
    total: int


class RetryDead(msgspec.Struct, frozen=True, kw_only=True):
    """Make a new job of each dead letter, with the type's current options (`types`, else as last declared)."""

    filter: DeadFilter
    new_ids: Sequence[str]
    types: dict[str, Options] = {}
    force: bool = False
    actor: str = "operator"


class PurgeDead(msgspec.Struct, frozen=True, kw_only=True):
    filter: DeadFilter
    limit: int = 1000
    actor: str = "operator"


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What this store is, in words that a person can check."""

    engine: str
    address: str
    library: str
    durability: str
    schema_version: int


class CheckStore(msgspec.Struct, frozen=True):
    """`deep` also does what takes as long as the store is large."""

    deep: bool = False


Level = Literal["ok", "warning", "error"]


class Finding(msgspec.Struct, frozen=True):
    """What was looked at and how it is. Everything but `ok` says what to do about it."""

    name: str
    level: Level
    message: str
    fix: str | None = None

    @classmethod
    def from_error(cls, name: str, error: Exception) -> Finding:
        """Messages of errors end with what to do, after a semicolon."""
        message, _, fix = str(error).partition("; ")
        return cls(name, "error", message, fix or "see the message")


class MigrationStatus(msgspec.Struct, frozen=True):
    current: int
    latest: int
    pending: list[str]
