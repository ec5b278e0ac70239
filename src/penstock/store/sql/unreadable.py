"""Jobs of which something that is stored cannot be read: those who look are told of each once, and see the others.

Nothing in penstock writes such values. A hand in the tables may, or a defect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

import msgspec

from penstock.domain.errors import NotAStore
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.domain.job import Job

T = TypeVar("T")

TOLD_MAX = 1000
WHY_LENGTH_MAX = 200
UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
"""What a decoder, or what makes times and states of numbers, may raise."""
BY_HAND = "somebody has changed the tables by hand, or this is a defect"

log = logging.getLogger("penstock.store")


def why_unreadable(error: Exception) -> str:
    let_interrupt_out(error)
    return str(error)[:WHY_LENGTH_MAX]


def unreadable_job(job_id: str, error: Exception) -> NotAStore:
    """Of one whose state or times are none, so that nothing true can be said of it."""
    return NotAStore(
        f"the job {job_id} cannot be read ({why_unreadable(error)}): {BY_HAND}; `penstock doctor --deep` says what "
        "else is wrong, and docs/doctor.md what to do"
    )


def no_lane(job_id: str) -> NotAStore:
    """Its type and queue are gone: it can neither be read nor run."""
    return NotAStore(
        f"the job {job_id} names a lane that does not exist, so its type is not known: the store is damaged; "
        "`penstock doctor --deep` says how many there are"
    )


def readable_jobs(rows: Iterable[T], make: Callable[[T], Job]) -> list[Job]:
    """Those that can be read; the log tells of the others."""
    jobs = []
    for row in rows:
        try:
            jobs.append(make(row))
        except NotAStore as error:
            tell_unreadable_job(str(error))
    return jobs


def part(decode: Callable[[str], T], text: str | None, what: str, job_id: str) -> T | None:
    """Something of a job that may be missing: it is, where it cannot be read."""
    if not text:
        return None
    try:
        return decode(text)
    except UNREADABLE as error:
        tell_unreadable_job(f"the {what} of the job {job_id} cannot be read ({why_unreadable(error)}): {BY_HAND}")
        return None


@lru_cache(TOLD_MAX)
def tell_unreadable_job(said: str) -> None:
    log.error("left out: %s", said)


@lru_cache(TOLD_MAX)
def tell_unknown_states(type: str, queue: str, state: str | int, jobs: int) -> None:
    log.error(
        "not counted: %s of type %r in queue %r in a state that does not exist (%s): %s; `penstock doctor --deep` "
        "names one", "1 job" if jobs == 1 else f"{jobs:,} jobs", type, queue, state, BY_HAND,
    )  # fmt: skip
