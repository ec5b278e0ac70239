"""New jobs whose type or queue does not wait for a worker: they end as they are stored, if there is none."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.domain.job import ErrorInfo
from penstock.domain.pauses import Pause, Pauses
from penstock.store.declared import make_options
from penstock.store.params import JobSpec
from penstock.store.postgres.steps import Steps, run
from penstock.store.unroutable import is_taken, reason_of, takers_of

Hasty = tuple[JobSpec, list[str]]
"""Ids that were just stored, and what they share."""


def end_new(stored: Iterable[Hasty]) -> Steps[set[str]]:
    """End those that are due and have no worker; answers which. Judged once for all that ask for the same."""
    takers = takers_of((yield from run("takers")))
    ended: set[str] = set()
    for spec, ids in stored:
        if is_taken(spec, takers) or (yield from _pauses()).holding(spec):
            continue
        reason = reason_of(spec, takers, make_options((yield from run("read_types"))))
        error = msgspec.json.encode(ErrorInfo("NoEligibleWorker", reason)).decode()
        found = yield from run("fail_new_jobs", ids=ids, reason=reason, error=error)
        ended |= {job_id for (job_id,) in found}
    if ended:
        yield from run("leave_line", ids=sorted(ended))
    return ended


def _pauses() -> Steps[Pauses]:
    return Pauses([Pause(*row) for row in (yield from run("read_pauses"))])
