"""Enqueueing, claiming and ending jobs: the hot path, and the reason why an engine exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import msgspec

from penstock.domain.flow.claim_budget import Cap
from penstock.domain.flow.gates import Gate
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
from penstock.store.call import Call
from penstock.store.contract.happened import Finished, Happened

if TYPE_CHECKING:
    from penstock.store.contract.workflows import NewWorkflow


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

    `dead` says that it ended at once, since no live worker can run it. `happened` says why, and also what expired on
    the way of the enqueue, since it held the unique key.
    """

    id: str
    created: bool
    dead: bool = False
    happened: Sequence[Happened] = ()


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
    snoozes: int = 0
    """How often its handler has put it off."""
    capability: str = "general"
    passed_at: int | None = None
    """When it passed its gates by the store's clock, where that was later than the claim."""


class Claimed(msgspec.Struct, frozen=True):
    """What a claim gave. `next_due_at` is when the next scheduled job becomes due, or a gate opens, if it is known.
    `happened` to others on its way: some had expired, or cannot be read.
    """

    jobs: list[Claim]
    claimed_at: int
    next_due_at: int | None
    happened: Sequence[Happened] = ()


class StartJobs(msgspec.Struct, frozen=True):
    """Attempts that have begun: (token, moment)."""

    starts: Sequence[tuple[int, int]]


class Completed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt that succeeded. `keep`: True stores the outcome, False removes the job, N keeps the type's last N.
    `member` is the id of a job that belongs to a workflow.
    """

    event: ClassVar[Event] = Event.COMPLETE
    token: int
    started_at: int
    result: str | None = None
    progress: str | None = None
    keep: bool | int = True
    member: str | None = None


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that ended without success.

    `event` is one of BACK_OFF (try again after `delay`), FAIL (dead), RELEASE and SNOOZE (back, after `delay`, the
    attempt not spent) or CANCEL. A cancel that a person asked for wins: the job ends cancelled, whatever the event.
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

    @property
    def ends(self) -> Sequence[Completed | Unfinished]:
        return (*self.completed, *self.unfinished)


class EndedAttempts(msgspec.Struct, frozen=True):
    """Attempts that this session had, (id of the job, number), and may have ended."""

    session: int
    attempts: Sequence[tuple[str, int]]


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


class Listener(Protocol):
    """A waiting worker's ear. Hints may be lost or spurious; a lost one costs one poll interval."""

    bell: int | None
    turn: int | None
    """A number that came with the last hint, the same for all who heard it; None if it came without one."""

    async def wait(self, timeout: float) -> bool:
        """True when there may be something new, False after `timeout` seconds. Costs nearly nothing while idle."""
        ...

    def close(self) -> None: ...


class JobQueue(Protocol):
    """Jobs on their way."""

    def enqueue_jobs(self, params: EnqueueJobs) -> Call[list[Enqueued]]:
        """Store all jobs or none, and answer in their order.

        A job whose id is already stored is not stored again (created is False): a retry of an uncertain
        enqueue makes one job. A unique key that holds a job answers that job's id with created False.
        While the key for the `whole` is held, none is stored: each is answered with created False.
        With a `transaction` the jobs exist if and only if that transaction commits.
        A job whose moment has not come is scheduled; otherwise it is pending and waiting workers are woken.
        """
        ...

    def claim_jobs(self, params: ClaimJobs) -> Call[Claimed]:
        """Lease up to `limit` jobs to a worker, in the order (priority, due time, id) among what it may run.

        No two leases hold one job. Every lease has a larger token than all before it. The attempt is counted
        now, so that a job which kills its worker uses its attempts up. Jobs whose time-to-live has passed
        expire instead. A worker that is not registered, or was declared lost, gets WorkerRefused; one that does not
        answer probes gets WorkerInactive; one that was told to drain gets nothing more. Jobs of a paused queue or
        type are left alone: once the pause is committed, no claim that ends later gives one out. For a short while
        after its due time, a job whose last attempt asked for it is not given to the worker of that attempt.

        A job passes all of its gates or is not given: never more jobs are held than a gate's number; never more are
        given in any span of its period, by the store's clock, than its number. Whatever would be too many is blocked
        until there is room, and does not slow down the claims of others. A gate that had no room lets the first of
        those that wait before it through as soon as it has. Of a gate that is ordered, only the first is given: by its
        due time as it was enqueued, then by the enqueue. It stays first until it has ended for good.

        What is claimed fits together into what the worker has free. A job that does not is passed over and holds up
        nobody, until it was due for longer than PASSED_OVER_SECONDS_MAX of domain/flow/claim_budget.py: then what the
        first such job needs is set aside, and those after it share the rest.
        """
        ...

    def start_jobs(self, params: StartJobs) -> Call[list[int]]:
        """Mark leased jobs as running. Answers the tokens that are no longer current; those change nothing."""
        ...

    def finish_jobs(self, params: FinishJobs) -> Call[Finished]:
        """End attempts. Answers which are not stored as sent: of those that are no longer current nothing is, nor are
        their follow-ups.

        Every other job in the call is unaffected by a lost one. After COMPLETE, FAIL or CANCEL the job is final
        and no claim will ever return it. RELEASE gives back the attempt; BACK_OFF keeps it spent.
        A job that a person asked to cancel ends cancelled, whatever its attempt says; its follow-ups are dropped.
        With a `transaction` the attempts end if and only if that transaction commits; until then their tokens are
        current for everybody else, and whoever would end them too waits for its end.
        """
        ...

    def ended_attempts(self, params: EndedAttempts) -> Call[list[Event | None]]:
        """With which event this session has ended each of these attempts: COMPLETE, FAIL, CANCEL, BACK_OFF, SNOOZE or
        RELEASE. What a worker asks when its commit was uncertain, and what it sends again is refused.

        None where it has not, as of one that was recovered or taken back; and where nothing tells: its job was removed,
        as one that keeps no outcome is, or it went back to wait with history `none`. An attempt that was given back
        is not spent, and another may have its number: then the latest of them answers.
        """
        ...

    def save_progress(self, params: SaveProgress) -> Call[list[int]]:
        """Store the newest progress of running attempts. Answers the tokens that are no longer current."""
        ...

    def begin_once(self, params: BeginOnce) -> Call[Once]:
        """Ask whether an effect of a job may be run: only the first attempt that asks is told so, until it says that
        the effect raised. Asking again with the same token gives the same answer.
        """
        ...

    def end_once(self, params: EndOnce) -> Call[bool]:
        """Store the value of an effect, or that it raised. False when the token is no longer current."""
        ...

    def listen(self, poll_interval: float) -> Listener:
        """An ear for new work, opened in a running event loop. Polls as the floor under lost hints."""
        ...
