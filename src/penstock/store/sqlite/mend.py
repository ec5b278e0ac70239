"""Rows that contradict each other or cannot be read: the claim or the duty that meets them gets past them, loudly.

Nothing in penstock makes such rows. A hand in the tables may, or a defect, and then one of them must not stand before
all other jobs for good.
"""

from __future__ import annotations

import logging
from typing import Any

import apsw
import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.store.endings import ending_unreadable
from penstock.store.faults import FREED, FREED_MAX
from penstock.store.params import Claim
from penstock.store.sqlite.finish import end_attempts
from penstock.store.sqlite.lines import leave_line
from penstock.store.sqlite.tx import Tx, as_json

MAX_TOKEN = 2**63 - 1
UNBLOCKED_AGAIN_US = MICROSECONDS
UNREADABLE = (apsw.SQLError, msgspec.MsgspecError)

log = logging.getLogger("penstock.store")

_decode = msgspec.json.Decoder(list[Claim]).decode


def lease(tx: Tx, statement: str, given: dict[str, Any]) -> int:
    """How many were leased. If one of them cannot be, what contradicts the other tables goes, and it is tried again."""
    try:
        tx.db.execute(statement, given)
    except apsw.ConstraintError:
        if not _mend_ready(tx):
            raise
        tx.db.execute(statement, given)
    return tx.db.changes()


def _mend_ready(tx: Tx) -> bool:
    removed = [name for (name,) in tx.run("mend_ready")]
    if removed:
        log.error("jobs that are under way, have ended or do not exist were waiting too, which was undone: %s",
                  ", ".join(removed))  # fmt: skip
    return bool(removed)


def unready(tx: Tx, token: int, leased: int) -> None:
    """So many jobs were leased after this token and do not wait any more.

    One that stood at another place than its job says is still in line, and would be taken again: its job is where it
    was taken from, as the claim has judged it.
    """
    if tx.change("unready_leased_jobs", token=token) < leased:
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
    return bool(tx.value("is_stuck", **asked)) and _mend_ready(tx)


def read_claims(tx: Tx, token: int) -> list[Claim]:
    """The claimed jobs as one document; one by one if their payloads together are too big for that, or if one of them
    cannot be read.
    """
    try:
        return _decode(tx.value("read_claims", after=token, upto=MAX_TOKEN))
    except (apsw.TooBigError, *UNREADABLE):
        return [claim for one in tx.array("tokens_after", token=token) for claim in _read_claim(tx, one)]


def _read_claim(tx: Tx, token: int) -> list[Claim]:
    """None if it cannot be read: it ends, since it would stand before all others again and again."""
    try:
        return _decode(tx.value("read_claims", after=token - 1, upto=token))
    except UNREADABLE as error:
        job_id = tx.value("job_of_token", token=token)
        log.error("job %s cannot be read and was ended: %s", job_id, error)
        end_attempts(tx, [ending_unreadable(token, str(error))], "default")
        leave_line(tx, [job_id])
        return []


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
    if tx.value("has_stuck_lanes") and _mend_ready(tx):
        tx.wake = True
