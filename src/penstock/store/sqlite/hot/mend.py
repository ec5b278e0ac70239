"""Rows that contradict each other or cannot be read: the claim or the duty that meets them gets past them, loudly.

Nothing in penstock makes such rows. A hand in the tables may, or a defect, and then one of them must not stand before
all other jobs for good.
"""

from __future__ import annotations

import logging
from typing import Any

import apsw

from penstock.domain.clock import MICROSECONDS
from penstock.store.sql.faults import FREED, FREED_MAX
from penstock.store.sqlite.connection.tx import Tx, as_json

UNBLOCKED_AGAIN_US = MICROSECONDS

log = logging.getLogger("penstock.store")


def mend_ready(tx: Tx) -> bool:
    removed = [name for (name,) in tx.run("mend_ready")]
    if removed:
        log.error("jobs that are under way, have ended or do not exist were waiting too, which was undone: %s",
                  ", ".join(removed))  # fmt: skip
    return bool(removed)


def place_displaced(tx: Tx, token: int) -> None:
    """Jobs leased after this token that stood at another place than their rows say are still in line, and would be
    taken again: their rows are set to where they were taken from, as the claim has judged them.
    """
    found = tx.run("displaced_jobs", token=token)
    for seq, job_id, lane, priority, due_at in found:
        log.error("job %s waited at another place than its row says, such as another priority, type or due time: "
                  "the row was set to where it waited", job_id)  # fmt: skip
        tx.change("place_job", seq=seq, lane=lane, priority=priority, due_at=due_at)
    tx.change("unready_jobs", seqs=as_json([row[0] for row in found]))


def unblock(tx: Tx, given: dict[str, Any]) -> bool:
    """After a claim that got nothing: whether something stood in its way, and was removed.

    What stands first in its lane and has no job hides all others. Not looked for again and again: nobody makes such.
    """
    if abs(tx.now - tx.lanes.unblocked_at) < UNBLOCKED_AGAIN_US:
        return False
    tx.lanes.unblocked_at = tx.now
    asked = {name: given[name] for name in ("lanes", "session", "fair")}
    return bool(tx.value("is_stuck", **asked)) and mend_ready(tx)


def ready_parked(tx: Tx, seqs: list[int]) -> bool:
    """These parked jobs may be claimed. False if some were among those already, or do not exist, which is told."""
    numbers = as_json(seqs)
    try:
        moved = tx.change("ready_parked_jobs", seqs=numbers)
    except apsw.ConstraintError:
        _tell_parked("waits elsewhere too", tx.run("numbers_in_line", seqs=numbers))
        moved = tx.change("ready_lost_jobs", seqs=numbers)
    if moved < len(seqs):
        _tell_parked("does not exist", tx.run("numbers_without_job", seqs=numbers))
    return moved == len(seqs)


def _tell_parked(why: str, found: list[tuple[str]]) -> None:
    for (job_id,) in found:
        log.error("job %s was parked before a limit although it %s: it was taken out of there", job_id, why)


def mend_gates(tx: Tx) -> None:
    """Jobs before gates that do not exist go on; the claims that get them make the gates again."""
    lost = tx.array("lost_parked", limit=FREED_MAX)
    if lost:
        if tx.change("ready_lost_jobs", seqs=as_json(lost)) < len(lost):
            _tell_parked("does not exist", tx.run("numbers_without_job", seqs=as_json(lost)))
        tx.change("unpark_jobs", seqs=as_json(lost))
        tx.wake = True
        log.error(FREED, len(lost), tx.value("job_of_number", seq=lost[0]) or f"number {lost[0]}")
    tx.change("forget_lost_permits")


def mend_lanes(tx: Tx) -> None:
    """What hides all others of its lane, while claims find enough in other lanes."""
    if tx.value("has_stuck_lanes") and mend_ready(tx):
        tx.wake = True
