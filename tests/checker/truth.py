"""What the store holds at the end, read through its contract, and the effects that handlers left beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from penstock.domain.job import FINAL, Job, Transition
from penstock.store.contract import Store
from penstock.store.params import ListJobs

PAGE = 1000


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


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """`counts` is what the store says when it is asked for numbers: by state, without listing jobs."""

    jobs: tuple[TrueJob, ...] = ()
    effects: tuple[Effect, ...] = ()
    counts: dict[str, int] = {}


def read_truth(store: Store, effects: Iterable[tuple[str, int] | tuple[str, int, str]] = ()) -> Truth:
    """Everything that the store knows about jobs, to be read when nobody changes it any more.

    `effects` are the rows (job, token) or (job, token, key).
    """
    counts: Counter[str] = Counter()
    for one in store.count_jobs().wait():
        counts[str(one.state)] += one.jobs
    return Truth(
        jobs=tuple(_true_job(job, store.read_history(job.id).wait()) for job in _all_jobs(store)),
        effects=tuple(Effect(*row) for row in effects),
        counts=dict(counts),
    )


def _all_jobs(store: Store) -> Iterator[Job]:
    last: str | None = None
    while True:
        page = store.list_jobs(ListJobs(before=last, limit=PAGE)).wait()
        yield from page
        if len(page) < PAGE:
            return
        last = page[-1].id


def _true_job(job: Job, history: list[Transition]) -> TrueJob:
    return TrueJob(
        id=job.id,
        type=job.type,
        state=str(job.state),
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        crashes=job.crashes,
        reason=job.reason,
        decided_by=job.decided_by,
        parent=job.parent,
        retried_from=job.retried_from,
        history=tuple(Step(step.event, step.attempt, step.reason) for step in history),
    )
