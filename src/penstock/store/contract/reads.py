"""Looking at jobs: nothing here changes anything."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from penstock.domain.flow.pauses import Pause
from penstock.domain.job import Job, State, Transition
from penstock.domain.options import (
    Resources,
)
from penstock.store.call import Call


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
    enough. Not `by_route`: of what has ended neither type nor queue is told, so that an index is enough.
    """

    by_tenant: bool = False
    by_capability: bool = False
    by_route: bool = True


ALL_JOBS = CountJobs()
ALL_STATES = CountJobs(by_route=False)


class Count(msgspec.Struct, frozen=True):
    """`tenant` and `capability` are told only where they were asked for; empty names where none were."""

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


class CountDead(msgspec.Struct, frozen=True):
    """`limit`: where counting stops, so that millions cost no more than that."""

    limit: int = 10_000


class OpenJobs(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one type in one queue that have not ended. `running` includes those claimed and not yet begun;
    `retrying` are those of the scheduled ones that were tried before; `blocked` wait for a limit.
    """

    type: str
    queue: str
    pending: int = 0
    scheduled: int = 0
    retrying: int = 0
    running: int = 0
    blocked: int = 0
    oldest_due_at: int | None = None


class Reads(Protocol):
    """Looking: each method answers one consistent view, and changes nothing."""

    def read_job(self, job_id: str) -> Call[Job | None]:
        """The job as it is now, or None if no such job is stored."""
        ...

    def list_jobs(self, params: ListJobs) -> Call[list[Job]]:
        """A page of jobs, newest first by id, without gaps or repeats while others are added; or those that have
        ended, the last to end first. By key, or by end and something else, it looks at no more than LOOKED_AT_MAX of
        the newest.

        What workflows have planned and may still begin is among the blocked ones, here and in counts.
        """
        ...

    def count_jobs(self, params: CountJobs = ALL_JOBS) -> Call[list[Count]]:
        """How many jobs there are by type, queue and state (and tenant if asked), in one consistent view."""
        ...

    def count_queues(self) -> Call[int]:
        """How many queues there are: all that ever had a job, or are paused."""
        ...

    def count_waiting(self, params: CountWaiting) -> Call[list[Waiting]]:
        """The pending jobs by what they ask for, in one consistent view: every such lane, with its oldest due time.

        Counting a lane stops at the limit; the oldest is always the true one. Costs what the lanes cost, not what
        the jobs cost, except for scheduled jobs that became due while nobody claimed.
        """
        ...

    def count_open(self) -> Call[list[OpenJobs]]:
        """The jobs that have not ended by queue and type, in one consistent view; also types that have none now."""
        ...

    def read_history(self, job_id: str) -> Call[list[Transition]]:
        """The stored transitions of a job, oldest first."""
        ...

    def list_dead(self, params: ListDead) -> Call[DeadPage]:
        """A page of dead letters (dead and expired), newest first, and how many match."""
        ...

    def count_dead(self, params: CountDead) -> Call[int]:
        """How many dead letters there are that were not retried; counting stops at the limit."""
        ...

    def list_pauses(self) -> Call[list[Pause]]:
        """All that is paused: queues, then types, by name."""
        ...

    def version(self) -> int | None:
        """A number that changes when something was committed by anyone. Free to ask; for waiting without load.

        None where an engine has nothing like it that is free.
        """
        ...
