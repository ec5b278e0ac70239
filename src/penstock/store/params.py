"""What goes into and comes out of the store: one params object per method, in domain words.

Moments are microseconds since the epoch by the store's clock; durations are seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from penstock.domain.job import Event, Job, State
from penstock.domain.options import DEFAULT_POLICY, NO_RESOURCES, Options, Resources, Tenant, Unique

History = Literal["all", "default", "failures", "none"]


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All of a job but its id and payload: what neighbours in a bulk enqueue share."""

    type: str
    queue: str = "default"
    capability: str = "general"
    resources: Resources = NO_RESOURCES
    priority: int = 0
    delay: float = 0.0
    at: int | None = None
    policy: str | None = None
    ttl: float | None = None
    tenant: Tenant | None = None
    tags: tuple[str, ...] = ()
    unique: Unique | None = None
    parent: str | None = None


class NewJob(msgspec.Struct, frozen=True, gc=False):
    """A job to store. `id` was made by the caller, so that sending it twice makes one job."""

    id: str
    payload: str
    spec: JobSpec


def job_spec(type: str, options: Options, parent: str | None = None) -> JobSpec:
    """What is stored of a job's options."""
    policy = options.policy
    return JobSpec(
        type=type,
        queue=options.queue,
        capability=options.capability,
        resources=options.resources,
        priority=options.priority,
        delay=options.delay or 0.0,
        at=options.at_us,
        policy=None if policy == DEFAULT_POLICY else msgspec.json.encode(policy).decode(),
        ttl=policy.ttl,
        tenant=options.tenant,
        tags=options.tags,
        unique=options.unique,
        parent=parent,
    )


class EnqueueJobs(msgspec.Struct, frozen=True):
    jobs: Sequence[NewJob]
    transaction: object | None = None


class Enqueued(msgspec.Struct, frozen=True, gc=False):
    """`id` is the given one, or that of the job that already holds the unique key (then `created` is False)."""

    id: str
    created: bool


class ClaimJobs(msgspec.Struct, frozen=True):
    """Up to `limit` jobs that this worker may run: by type, queue, capability and what it has."""

    session: int
    limit: int
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ("general",)
    resources: Resources | None = None


class Claim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A job in a worker's hands. `token` is larger than that of every claim before, and fences all later writes."""

    token: int
    id: str
    type: str
    queue: str
    attempt: int
    crashes: int
    payload: str
    policy: str | None
    priority: int
    created_at: int
    due_at: int
    tenant: Tenant | None = None
    tags: tuple[str, ...] | None = None
    parent: str | None = None


class Claimed(msgspec.Struct, frozen=True):
    """What a claim gave. `next_due_at` is when the next scheduled job becomes due, if one is known."""

    jobs: list[Claim]
    claimed_at: int
    next_due_at: int | None


class StartJobs(msgspec.Struct, frozen=True):
    """Attempts that have begun: (token, moment)."""

    starts: Sequence[tuple[int, int]]


class Completed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt that succeeded. `keep`: True stores the outcome, False removes the job, N keeps the type's last N."""

    token: int
    started_at: int
    result: str | None = None
    progress: str | None = None
    keep: bool | int = True


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended without success.

    `event` is one of BACK_OFF (try again after `delay`), FAIL (dead), RELEASE (back, the attempt not spent)
    or CANCEL. A cancel that a person asked for wins: the job ends cancelled, whatever the event.
    `crash` says that the attempt took its process along; that is counted apart. `elsewhere` asks that for a short
    while other workers are preferred for the next attempt.
    """

    token: int
    event: Event
    started_at: int | None = None
    delay: float = 0.0
    error: str | None = None
    reason: str | None = None
    progress: str | None = None
    keep: bool | int = True
    crash: bool = False
    elsewhere: bool = False


class FinishJobs(msgspec.Struct, frozen=True):
    """Outcomes of attempts, in one transaction. A follow-up is stored only if its parent's token still holds.

    With a `transaction` of the caller's they are stored if and only if that commits.
    """

    completed: Sequence[Completed] = ()
    unfinished: Sequence[Unfinished] = ()
    follow_ups: Sequence[tuple[int, NewJob]] = ()
    history: History = "default"
    transaction: object | None = None


class SaveProgress(msgspec.Struct, frozen=True):
    """The newest progress of running attempts: (token, JSON)."""

    progress: Sequence[tuple[int, str]]


class RegisterWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that starts, and what it takes: None for types or queues means all.

    `declared` are the job types that its program knows, also those that it does not take; they are remembered for
    enqueues by name and for retries by operators. It counts as alive for `stale_after` seconds after a heartbeat.
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


WorkerStatus = Literal["active", "draining", "inactive", "lost"]


class HeartbeatWorker(msgspec.Struct, frozen=True):
    session: int
    status: WorkerStatus = "active"


class Heartbeat(msgspec.Struct, frozen=True):
    """`known` is False when the worker was declared lost: its leases are gone and it must register again."""

    known: bool


class ReadSignals(msgspec.Struct, frozen=True):
    """What the holder of these tokens should know."""

    session: int
    tokens: Sequence[int]


class Signals(msgspec.Struct, frozen=True):
    """`cancelled`: a person asked to stop them. `lost`: the tokens are no longer current."""

    cancelled: list[int]
    lost: list[int]


class LeadStore(msgspec.Struct, frozen=True):
    """Take or keep the lead for `lease` seconds; None gives it up."""

    session: int
    lease: float | None


class Leadership(msgspec.Struct, frozen=True):
    """Who leads: `acting` says that it is whoever asked. The lead is free after `free_in` seconds at the latest."""

    term: int
    acting: bool
    worker_id: str | None
    free_in: float


class RecoverJobs(msgspec.Struct, frozen=True):
    """Take back the jobs of workers whose heartbeat is older than `stale_after`, and than what they registered.

    The `term` of a leader fences it; an `actor`, a person who asks, has none and is audited.
    """

    stale_after: float
    limit: int = 500
    term: int | None = None
    actor: str | None = None


class Recovered(msgspec.Struct, frozen=True):
    workers: list[str]
    jobs: list[str]
    more: bool = False


class GiveBackJobs(msgspec.Struct, frozen=True):
    """Take back jobs that were claimed `start_timeout` seconds ago and have not begun. No attempt is spent.

    One that was given back `times_max` times before is dead.
    """

    start_timeout: float
    term: int | None = None
    times_max: int = 3
    limit: int = 500


class GivenBack(msgspec.Struct, frozen=True):
    """The ids of jobs that wait again, and of those that are dead now."""

    waiting: list[str]
    dead: list[str]


class ExpireJobs(msgspec.Struct, frozen=True):
    """End jobs that waited for longer than their time-to-live."""

    term: int | None = None


class FailUnroutable(msgspec.Struct, frozen=True, kw_only=True):
    """End pending jobs of a lane for which there is no worker, at most `limit` a call."""

    type: str
    queue: str
    capability: str
    resources: Resources
    reason: str
    limit: int = 1000
    term: int | None = None


class MarkWorkers(msgspec.Struct, frozen=True):
    """Sessions that did not answer probes and get no more jobs, and those that answer again."""

    failing: Sequence[int] = ()
    well: Sequence[int] = ()
    term: int | None = None


class BeginOnce(msgspec.Struct, frozen=True):
    """An effect of the attempt with this token is about to be run."""

    token: int
    key: str


OnceStatus = Literal["run", "done", "uncertain", "lost"]


class Once(msgspec.Struct, frozen=True):
    """`run`: this attempt may. `done`: it was, with this value. `uncertain`: an earlier attempt has begun it and never
    said that it was done. `lost`: the token is no longer current."""

    status: OnceStatus
    value: str | None = None


class EndOnce(msgspec.Struct, frozen=True):
    """The effect was run, with this value; or, with `undone`, it raised and may be run again."""

    token: int
    key: str
    value: str | None = None
    undone: bool = False


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as it registered, and how it is. `silent` is the time since its last heartbeat by the store's clock.

    It is negative when the store's clock went back. A `stale` worker is overdue and not yet declared lost. `health` is
    where it answers probes. One that did not answer them is `failing`: inactive until it does.
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

    @property
    def live(self) -> bool:
        """Whether it can be counted on: it runs or drains, and was heard of in time."""
        return self.status in ("active", "draining") and self.silent <= self.stale_after

    @property
    def stale(self) -> bool:
        return self.status in ("active", "draining") and self.silent > self.stale_after


class CancelJob(msgspec.Struct, frozen=True):
    id: str
    actor: str = "client"


class Cancelled(msgspec.Struct, frozen=True):
    """`before` is the state in which the cancel found the job; `after` is the state that it has now.

    A waiting job is cancelled at once. A claimed or running one keeps its state and is asked to stop.
    """

    before: State
    after: State


class ListJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs, newest first. `before` is the id of the last job of the page before."""

    states: frozenset[State] | None = None
    type: str | None = None
    queue: str | None = None
    tenant: str | None = None
    tag: str | None = None
    before: str | None = None
    limit: int = 20


class Count(msgspec.Struct, frozen=True):
    type: str
    queue: str
    state: State
    jobs: int


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


class DeadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters. Nothing given means all; those retried before are left out unless asked for."""

    ids: tuple[str, ...] | None = None
    type: str | None = None
    queue: str | None = None
    tenant: str | None = None
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


class PruneJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Remove what the retention rule no longer keeps, at most `limit` jobs a call."""

    completed_after: float
    cancelled_after: float
    dead_after: float | None = None
    limit: int = 1000
    term: int | None = None


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
