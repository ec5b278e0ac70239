"""What must hold between the rows of a store, on every engine: the one list of it, and how the doctor tells a breach.

Nothing in penstock breaks these. A hand in the tables may, a defect, or a copy that was put together of parts. What is
mended by itself when somebody meets it is in the engines' `mend.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.store.contract import Finding, Level
from penstock.store.sql.unreadable import BY_HAND

TOLD_MAX = 1000

log = logging.getLogger("penstock.store")

FREED_MAX = 10_000
"""So many jobs that are parked before a gate which is gone are let go at a time."""
FREED = (
    "%d jobs were parked before a limit whose row is gone, such as %s: they wait for a worker again, which makes the "
    "limit anew; somebody has changed the tables by hand, or this is a defect"
)


HOW = "how such a job gets to run, or goes away: docs/doctor.md, 'Rows that contradict each other'"


class Fault(NamedTuple):
    """`words` say what is wrong; `places` stands for the tables where it is."""

    words: str
    level: Level = "error"
    fix: str = ""


FAULTS = {
    "stateless": Fault("a job that is in no state"),
    "jobless": Fault("in {places} without a job"),
    "several": Fault("a job in {places}"),
    "laneless": Fault("a job in a lane that does not exist, which nobody can read or run"),
    "unreadable": Fault(
        "in {places} something that cannot be read", "error",
        "somebody has changed the tables by hand, or this is a defect: a worker whose row this is takes nothing until "
        "it is started again, and nobody takes the jobs of such a lane until its resources are as they were",
    ),
    "unknown": Fault(
        "a job that has ended in a state that does not exist", "error",
        f"nobody can read it until it has one: {BY_HAND}; {HOW}",
    ),
    "displaced": Fault("waiting at another place than its job"),
    "gateless": Fault(
        "a job parked before a limit whose row is gone", "warning",
        "the worker that leads lets them go on within a minute, and makes the limit again: start one if none is alive",
    ),
    "miscounted": Fault(
        "a rate limit that miscounts the jobs that it has let through", "error",
        "it lets too many through, or too few: delete its row from the table gate, and the worker that leads lets go "
        "on within a minute what waits for it, and the limit is made again",
    ),
    "ownerless": Fault(
        "a job that is under way at a worker whose row is gone", "warning",
        "the worker that leads takes them back within about a minute, as those of a lost worker: start one if none is "
        "alive, or: penstock recover",
    ),
}  # fmt: skip
"""By the name that check_pointers.sql of each engine gives it."""
NOT_SHOWN = frozenset({"jobless", "laneless"})
"""Of these there is no job that could be read."""


def fault_findings(name: str, rows: Iterable[Any], keep: str) -> Iterator[Finding]:
    """The rows are (fault, tables, how many, one of them). `keep` says how to keep a copy."""
    sound = True
    for fault, places, count, example in rows:
        sound = False
        words, level, fix = FAULTS[fault]
        reported = f"{BY_HAND}: {keep}; {HOW}"
        shown = "" if fault in NOT_SHOWN else f"; what is known of one: penstock jobs show {example}"
        said = f"{count:,} × {words.format(places=places)}, such as {example}"
        yield Finding(name, level, said, fix or reported + shown)
    if sound:
        yield Finding(name, "ok", "every job is in exactly one state, and where its row says")


FLOW_FAULTS = {
    "jobs": Fault("a workflow with a step that miscounts its jobs"),
    "steps": Fault("a workflow that miscounts its steps"),
    "needs": Fault("a workflow with a step that miscounts those before it"),
    "gone": Fault(
        "a workflow whose row is gone and whose steps or jobs are there",
        "error",
        ". Its jobs that were enqueued run and end; what had not begun never will, unless the row is put back as it "
        "was: enqueue that anew",
    ),
}
"""By the name that check_workflows.sql of each engine gives it. Such a workflow would never end, or end too soon."""


def flow_findings(rows: Iterable[Any], keep: str) -> Iterator[Finding]:
    """The rows are (fault, how many workflows, one of them)."""
    for fault, count, example in rows:
        words, level, fix = FLOW_FAULTS[fault]
        shown = fix or f"; what is known of one: penstock workflows show {example}"
        reported = f"somebody has changed the tables by hand, or this is a defect: {keep}"
        yield Finding("workflows", level, f"{count:,} × {words}, such as {example}", reported + shown)


def tell_ownerless(session: int, jobs: Sequence[str]) -> str:
    """Of jobs that were taken back; answers how the worker without a name is called."""
    log.error(
        "%d jobs were under way at a worker whose row is gone (session %d), such as %s: they were taken back as those "
        "of a lost worker; somebody has changed the tables by hand, or this is a defect", len(jobs), session, jobs[0],
    )  # fmt: skip
    return f"session {session}"


# Rows that are met again and again: each is told of once


@lru_cache(TOLD_MAX)
def tell_unreadable_worker(worker_id: str, why: str) -> None:
    log.error(
        "the row of the worker %r cannot be read: it counts as one that takes no jobs; somebody has changed the tables "
        "by hand, or this is a defect: %s", worker_id, why,
    )  # fmt: skip


@lru_cache(TOLD_MAX)
def tell_unreadable_needs(resources: str, why: str) -> None:
    log.error(
        "what jobs of some type need cannot be read, so no worker takes them: %r; somebody has changed the table of "
        "lanes by hand, or this is a defect: %s", resources, why,
    )  # fmt: skip
