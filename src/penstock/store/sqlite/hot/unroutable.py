"""Jobs that end because no worker can run them: those that wait, and new ones whose type or queue does not wait."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.job import ErrorInfo, Event
from penstock.store.sql.happening import NO_WORKER
from penstock.store.sql.steps import at_once
from penstock.store.sql.unroutable import Fail
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot.finish import record_ends
from penstock.store.sqlite.hot.lines import leave_line


def fail_new_after(tx: Tx, last_job: int) -> Fail:
    """How those of the jobs after this one end that are due."""

    @at_once
    def fail(ids: Sequence[str], reason: str) -> list[str]:
        found = tx.array("new_due_jobs", ids=as_json(ids), last_job=last_job, now=tx.now)
        if found:
            end_waiting(tx, found, reason)
        return [job_id for _, job_id in found]

    return fail


def end_waiting(tx: Tx, found: Sequence[tuple[int, str]], reason: str) -> None:
    """These jobs, (seq, id), end dead where they wait."""
    seqs = as_json([seq for seq, _ in found])
    error = as_json(ErrorInfo(NO_WORKER, reason))
    tx.change("fail_waiting_jobs", seqs=seqs, now=tx.now, reason=reason)
    tx.change("unready_jobs", seqs=seqs)
    tx.change("unpark_jobs", seqs=seqs)
    tx.change("explain_failed_jobs", seqs=seqs, error=error)
    ids = [job_id for _, job_id in found]
    record_ends(tx, ids, Event.FAIL, reason, error)
    leave_line(tx, ids)
