"""Jobs that end because no worker can run them: those that wait, and new ones whose type or queue does not wait."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.job import ErrorInfo, StateCode
from penstock.store.declared import make_options
from penstock.store.params import JobSpec, NewJob
from penstock.store.sqlite.flow import read_pauses
from penstock.store.sqlite.lines import leave_line
from penstock.store.sqlite.tx import Tx, as_json
from penstock.store.unroutable import is_taken, reason_of, takers_of

Runs = Sequence[tuple[JobSpec, list[NewJob]]]


def end_new(tx: Tx, runs: Runs, last_job: int) -> set[str]:
    """End those of the jobs after `last_job` that do not wait for a worker, are due, and have none; answers which.

    Judged once for all that ask for the same.
    """
    takers = takers_of(tx.run("takers", now=tx.now))
    ended: set[str] = set()
    for spec, run in runs:
        if spec.no_worker == "wait" or is_taken(spec, takers) or read_pauses(tx).holding(spec):
            continue
        found = tx.array("new_due_jobs", ids=as_json([job.id for job in run]), last_job=last_job, now=tx.now)
        if found:
            end_waiting(tx, found, reason_of(spec, takers, make_options(tx.run("read_types"))))
            ended |= {job_id for _, job_id in found}
    return ended


def end_waiting(tx: Tx, found: Sequence[tuple[int, str]], reason: str) -> None:
    """These jobs, (seq, id), end dead where they wait."""
    seqs = as_json([seq for seq, _ in found])
    error = as_json(ErrorInfo("NoEligibleWorker", reason))
    tx.change("fail_waiting_jobs", seqs=seqs, now=tx.now, reason=reason, dead=StateCode.DEAD)
    tx.change("unready_jobs", seqs=seqs)
    tx.change("unpark_jobs", seqs=seqs)
    tx.change("explain_failed_jobs", seqs=seqs, error=error)
    leave_line(tx, [job_id for _, job_id in found])
