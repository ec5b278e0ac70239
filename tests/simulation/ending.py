"""What must be true of the store when all is over, beside what histories tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.domain.job import FINAL, State
from penstock.store.contract import Happened, SqlStore, Transaction
from tests.chaos.counted import counted
from tests.checker.history import History
from tests.checker.truth import TrueJob
from tests.simulation.process import HookCalled

# Where a job is says what state it is in: it must be in one place.
MISPLACED = """
SELECT id, places FROM (
    SELECT
        job.id,
        (SELECT count(*) FROM penstock_ready AS ready WHERE ready.seq = job.seq)
        + (SELECT count(*) FROM penstock_scheduled AS scheduled WHERE scheduled.seq = job.seq)
        + (SELECT count(*) FROM penstock_parked AS parked WHERE parked.seq = job.seq)
        + (SELECT count(*) FROM penstock_lease AS lease WHERE lease.seq = job.seq)
        + (SELECT count(*) FROM penstock_outcome AS outcome WHERE outcome.seq = job.seq) AS places
    FROM penstock_job AS job
)
WHERE places <> 1
"""


def misplaced_jobs(tx: Transaction) -> Iterator[str]:
    for job, places in tx.execute(MISPLACED):
        yield f"job {job} is in {places} places of the store"


def workers_left(store: SqlStore) -> Iterator[str]:
    """After all have stopped in order, nobody is thought to run."""
    for one in store.list_workers().wait():
        if one.status in ("active", "draining"):
            yield f"worker {one.id} has stopped, and the store shows it as {one.status}"


def untrue_hooks(calls: Iterable[HookCalled], history: History) -> Iterator[str]:
    """Hooks are told of an attempt's outcome once, and never of one that was refused.

    Where the answer to an outcome was lost and its second try was refused, nobody knows whether the first was stored.
    """
    refused: set[int] = set()
    doubtful: set[int] = set()
    for finish in history.of("finish"):
        tokens = {one.token for one in (*finish.asked.completed, *finish.asked.unfinished)}
        if finish.ok:
            refused.update(tokens.intersection(finish.told.lost))
        else:
            doubtful |= tokens
    for one, times in Counter(calls).items():
        if times > 1:
            yield f"{one.hook} was called {times} times for job {one.job} with token {one.token}"
        if one.token in refused - doubtful:
            yield f"{one.hook} was called for job {one.job} with token {one.token}, whose outcome was refused"


def untrue_counts(store: SqlStore, jobs: Iterable[TrueJob], removes: bool) -> Iterator[str]:
    """Nothing is counted twice. Whoever dies takes along what it has counted since its last heartbeat. If jobs are
    removed when they have completed, nothing tells how many that were.
    """
    stored = Counter(str(job.state) for job in jobs if job.state in FINAL)
    for state, number in sorted(counted(store).items()):
        if number > stored[state] and not (removes and state == State.COMPLETED):
            yield f"{stored[state]} jobs have ended as {state}, and {number} were counted"


def untrue_ends(told: Iterable[Happened], jobs: Iterable[TrueJob]) -> Iterator[str]:
    """Observers are told of the end of a job at most once, and as it is stored. Whoever dies before it has told what it
    has done, or was never answered, tells nothing. A job that was removed may have been enqueued anew, and end again.
    """
    stored = {job.id: job.state for job in jobs}
    ends = Counter((one.id, one.state) for one in told if one.state in FINAL and one.event != "retried")
    for (job, state), times in ends.items():
        if times > 1 and job in stored:
            yield f"it was told {times} times that job {job} has ended as {state}"
        if stored.get(job, state) != state:
            yield f"it was told that job {job} has ended as {state}, and it is {stored[job]}"
