"""What the store holds at the end, read through its contract, and the effects that handlers left beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from penstock.domain.clock import to_us
from penstock.domain.job import FINAL, Job, Transition
from penstock.store.contract import ListJobs, ListWorkflows, SqlStore

PAGE = 1000
TAG = "schedule:"


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One stored step in a job's life."""

    event: str
    attempt: int
    reason: str | None = None


class TrueJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job as the store shows it."""

    id: str
    type: str = "task"
    state: str
    attempt: int
    max_attempts: int = 3
    crashes: int = 0
    reason: str | None = None
    decided_by: str | None = None
    parent: str | None = None
    retried_from: str | None = None
    history: tuple[Step, ...] = ()
    schedule: str | None = None
    """The schedule that made it."""
    early_us: int = 0
    """How long before it was due a schedule has made it."""
    created_at: int = 0
    """When it was enqueued, by the store's clock."""
    priority: int = 0
    """As it is at the end: ageing raises it."""

    @property
    def final(self) -> bool:
        return self.state in FINAL

    @property
    def recoveries(self) -> int:
        """How often it was taken from a lost worker, by what the store has kept."""
        return self._times("recover", "recovery")

    @property
    def taken(self) -> int:
        """The same, or because it was not begun in time."""
        return self.recoveries + self._times("give_back", "start-timeout")

    def _times(self, event: str, decider: str) -> int:
        at_last = self.state == "dead" and self.decided_by == decider
        return at_last + sum(step.event == event for step in self.history)


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row that a handler left. `key` tells apart the effects of one job, where it has several."""

    job: str
    token: int
    key: str = ""


class TrueWorkflow(msgspec.Struct, frozen=True):
    """A workflow as the store shows it: running, completed, failed or cancelled."""

    id: str
    state: str


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """`counts` is what the store says when it is asked for numbers: by state, without listing jobs."""

    jobs: tuple[TrueJob, ...] = ()
    workflows: tuple[TrueWorkflow, ...] = ()
    effects: tuple[Effect, ...] = ()
    counts: dict[str, int] = {}


def read_truth(store: SqlStore, effects: Iterable[tuple[str, int] | tuple[str, int, str]] = ()) -> Truth:
    """Everything that the store knows about jobs, to be read when nobody changes it any more.

    `effects` are the rows (job, token) or (job, token, key).
    """
    counts: Counter[str] = Counter()
    for one in store.count_jobs().wait():
        counts[str(one.state)] += one.jobs
    return Truth(
        jobs=tuple(_true_job(job, store.read_history(job.id).wait()) for job in _all_jobs(store)),
        workflows=tuple(_all_workflows(store)),
        effects=tuple(Effect(*row) for row in effects),
        counts=dict(counts),
    )


def _all_jobs(store: SqlStore) -> Iterator[Job]:
    last: str | None = None
    while True:
        page = store.list_jobs(ListJobs(before=last, limit=PAGE)).wait()
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1].id


def _schedule(job: Job) -> str | None:
    return next((tag.removeprefix(TAG) for tag in job.tags if tag.startswith(TAG)), None)


def _all_workflows(store: SqlStore) -> Iterator[TrueWorkflow]:
    last: str | None = None
    while True:
        page = store.list_workflows(ListWorkflows(before=last, limit=PAGE)).wait()
        yield from (TrueWorkflow(one.id, str(one.state)) for one in page)
        if len(page) < PAGE:
            return
        last = page[-1].id


def _true_job(job: Job, history: list[Transition]) -> TrueJob:
    return TrueJob(
        id=job.id,
        type=job.type,
        state=str(job.state),
        created_at=to_us(job.created_at),
        priority=job.priority,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        crashes=job.crashes,
        reason=job.reason,
        decided_by=job.decided_by,
        parent=job.parent,
        retried_from=job.retried_from,
        history=tuple(Step(step.event, step.attempt, step.reason) for step in history),
        schedule=_schedule(job),
        early_us=max(0, to_us(job.due_at) - to_us(job.created_at)) if _schedule(job) and not history else 0,
    )
