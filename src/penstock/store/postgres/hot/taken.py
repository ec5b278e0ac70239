"""Jobs that a claim has taken: read, let through their gates, given back.

One that nobody can read or reckon with ends, loudly: it would stand before all others again and again. Which one it is
among many is only looked for when a statement over all of them has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg

from penstock.store.contract import Claim
from penstock.store.postgres.hot.finish import end_and_tell
from penstock.store.postgres.hot.gates import admit_steps
from penstock.store.postgres.hot.mend import log, soundly
from penstock.store.postgres.hot.seen import Seen, claims_of
from penstock.store.sql.endings import ending_unreadable
from penstock.store.sql.steps import Steps, run, value

Admitted = tuple[list[Claim], bool, list[Claim]]
"""Those that may begin, whether some went back, and those that a person has cancelled."""


def read_claims(seen: Seen, columns: list[Any]) -> Steps[list[Claim]]:
    if columns[5] and None in columns[5]:  # There is no such job. Others may wait at a gate that let it through.
        yield from run("tend_gates")
        seen.wake_at = yield from value("next_wake")
    try:
        return claims_of(seen, columns)
    except msgspec.MsgspecError:
        jobs: list[Claim] = []
        for nth, (token, id_) in enumerate(zip(*columns[:2], strict=True)):
            try:
                jobs += claims_of(seen, [column and column[nth : nth + 1] for column in columns])
            except msgspec.MsgspecError as error:
                yield from _end(seen, id_, token, str(error))
        return jobs


def admit(seen: Seen, jobs: Sequence[Claim], free: int) -> Steps[Admitted]:
    try:
        return (yield from admit_steps(jobs, free))
    except psycopg.DataError:
        return (yield from _admit_singly(seen, jobs, free))


def _admit_singly(seen: Seen, jobs: Sequence[Claim], free: int) -> Steps[Admitted]:
    passed: list[Claim] = []
    stopped: list[Claim] = []
    back = False
    for job in jobs:
        if not job.gates:
            passed.append(job)
            continue
        try:
            through, returned, cancelled = yield from admit_steps([job], free)
        except psycopg.DataError as error:
            yield from _end(seen, job.id, job.token, str(error.diag.message_primary))
            continue
        passed += through
        stopped += cancelled
        back, free = back or returned, free - len(through)
    return passed, back, stopped


def give_back(seen: Seen, jobs: Sequence[Claim]) -> Steps[set[int]]:
    """The tokens of those that wait again, or have ended."""
    try:
        return {token for token, _ in (yield from soundly("give_back", tokens=[job.token for job in jobs]))}
    except psycopg.DataError as error:
        if len(jobs) == 1:
            yield from _end(seen, jobs[0].id, jobs[0].token, str(error.diag.message_primary))
            return {jobs[0].token}
    returned: set[int] = set()
    for job in jobs:
        returned |= yield from give_back(seen, [job])
    return returned


def _end(seen: Seen, job_id: str, token: int, why: str) -> Steps[None]:
    log.error("job %s cannot be read and was ended: %s", job_id, why)
    seen.happened += yield from end_and_tell([ending_unreadable(token, why)])
    yield from run("leave_line", ids=[job_id])
