"""Jobs that a claim has taken: read, let through their gates, given back.

One that nobody can read or reckon with ends, loudly: it would stand before all others again and again. Which one it is
among many is only looked for when a statement over all of them has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import psycopg

from penstock.store.endings import ending_unreadable
from penstock.store.params import Claim
from penstock.store.postgres.finish import end_attempts
from penstock.store.postgres.gates import admit_steps
from penstock.store.postgres.mend import log, soundly
from penstock.store.postgres.seen import Seen, claims_of
from penstock.store.postgres.steps import Steps, run, value

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
                yield from _end(id_, token, str(error))
        return jobs


def admit(jobs: Sequence[Claim], free: int) -> Steps[Admitted]:
    try:
        return (yield from admit_steps(jobs, free))
    except psycopg.DataError:
        return (yield from _admit_singly(jobs, free))


def _admit_singly(jobs: Sequence[Claim], free: int) -> Steps[Admitted]:
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
            yield from _end(job.id, job.token, str(error.diag.message_primary))
            continue
        passed += through
        stopped += cancelled
        back, free = back or returned, free - len(through)
    return passed, back, stopped


def give_back(jobs: Sequence[Claim]) -> Steps[set[int]]:
    """The tokens of those that wait again, or have ended."""
    try:
        return {token for token, _ in (yield from soundly("give_back", tokens=[job.token for job in jobs]))}
    except psycopg.DataError as error:
        if len(jobs) == 1:
            yield from _end(jobs[0].id, jobs[0].token, str(error.diag.message_primary))
            return {jobs[0].token}
    returned: set[int] = set()
    for job in jobs:
        returned |= yield from give_back([job])
    return returned


def _end(job_id: str, token: int, why: str) -> Steps[None]:
    log.error("job %s cannot be read and was ended: %s", job_id, why)
    yield from end_attempts([ending_unreadable(token, why)], "default")
    yield from run("leave_line", ids=[job_id])
