"""Enqueueing, claiming and ending jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from penstock.domain.gates import Gate
from penstock.domain.job import Event
from penstock.domain.options import (
    DEFAULT_POLICY,
    NO_RESOURCES,
    Concurrency,
    NoWorker,
    Options,
    RateLimit,
    Resources,
    Tenant,
    Unique,
)
from penstock.domain.room import Cap

if TYPE_CHECKING:
    from penstock.store.params.workflows import NewWorkflow

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
    rate_limit: RateLimit | None = None
    limit: Concurrency | None = None
    parent: str | None = None
    no_worker: NoWorker = "wait"

    @property
    def unique_key(self) -> str | None:
        """As it is stored: with whom it is unique among, quoted, so that no two of them can look alike."""
        unique = self.unique
        if unique is None or unique.scope == "all":
            return None if unique is None else unique.key
        among = {"type": self.type, "queue": self.queue, "tenant": self.tenant.org if self.tenant else ""}
        return f"{unique.scope} {msgspec.json.encode(among[unique.scope]).decode()}: {unique.key}"


class NewJob(msgspec.Struct, frozen=True, gc=False):
    """A job to store. `id` was made by the caller, so that sending it twice makes one job. It passes all its gates."""

    id: str
    payload: str
    spec: JobSpec
    gates: tuple[Gate, ...] = ()


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
        rate_limit=options.rate_limit,
        limit=options.limit,
        parent=parent,
        no_worker=options.no_worker,
    )


class WholeKey(msgspec.Struct, frozen=True):
    """A key that a whole enqueue depends on: who gets it holds it for so long, whatever becomes of the jobs."""

    key: str
    seconds: float


class EnqueueJobs(msgspec.Struct, frozen=True):
    jobs: Sequence[NewJob]
    transaction: object | None = None
    whole: WholeKey | None = None


class Enqueued(msgspec.Struct, frozen=True, gc=False):
    """`id` is the given one, or that of the job that already holds the unique key (then `created` is False).

    `dead` says that it ended at once, since no live worker can run it.
    """

    id: str
    created: bool
    dead: bool = False


class ClaimJobs(msgspec.Struct, frozen=True):
    """Up to `limit` jobs that this worker may run: by type, queue, capability and what it has.

    Together they need no more than what is `free` of that now (None: all of it), and no more of a type than its cap.
    `at_once` is how many it can begin now: of jobs with gates it gets no more than that. Tenants take turns, each as
    many in a row as its weight says, or one.
    """

    session: int
    limit: int
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = ("general",)
    resources: Resources | None = None
    free: Resources | None = None
    caps: tuple[Cap, ...] = ()
    at_once: int | None = None
    weights: Mapping[str, int] = {}


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
    resources: Resources | None = None
    gates: tuple[Gate, ...] | None = None
    passed_at: int | None = None
    """When it passed its gates by the store's clock, where that was later than the claim."""


class Claimed(msgspec.Struct, frozen=True):
    """What a claim gave. `next_due_at` is when the next scheduled job becomes due, or a gate opens, if it is known."""

    jobs: list[Claim]
    claimed_at: int
    next_due_at: int | None


class StartJobs(msgspec.Struct, frozen=True):
    """Attempts that have begun: (token, moment)."""

    starts: Sequence[tuple[int, int]]


class Completed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt that succeeded. `keep`: True stores the outcome, False removes the job, N keeps the type's last N.
    `member` is the id of a job that belongs to a workflow.
    """

    token: int
    started_at: int
    result: str | None = None
    progress: str | None = None
    keep: bool | int = True
    member: str | None = None


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended without success.

    `event` is one of BACK_OFF (try again after `delay`), FAIL (dead), RELEASE (back, the attempt not spent)
    or CANCEL. A cancel that a person asked for wins: the job ends cancelled, whatever the event.
    `crash` says that the attempt took its process along; that is counted apart. `elsewhere` asks that for a short
    while other workers are preferred for the next attempt. `member` is the id of a job that belongs to a workflow.
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
    member: str | None = None


class FinishJobs(msgspec.Struct, frozen=True):
    """Outcomes of attempts, in one transaction. A follow-up is stored only if its parent's token still holds, and so is
    a workflow.

    With a `transaction` of the caller's they are stored if and only if that commits.
    """

    completed: Sequence[Completed] = ()
    unfinished: Sequence[Unfinished] = ()
    follow_ups: Sequence[tuple[int, NewJob]] = ()
    history: History = "default"
    transaction: object | None = None
    workflows: Sequence[tuple[int, NewWorkflow]] = ()


class SaveProgress(msgspec.Struct, frozen=True):
    """The newest progress of running attempts: (token, JSON)."""

    progress: Sequence[tuple[int, str]]


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
