"""Rows that contradict each other or cannot be read: the claim or the duty that meets them gets past them, loudly.

Nothing in penstock makes such rows. A hand in the tables may, or a defect, and then one of them must not stand before
all other jobs for good.
"""

from __future__ import annotations

import logging
from typing import Any

import apsw
import msgspec

from penstock.store.faults import FREED, FREED_MAX
from penstock.store.params import Claim
from penstock.store.sqlite.tx import Tx, as_json

MAX_TOKEN = 2**63 - 1
UNREADABLE = (apsw.SQLError, msgspec.MsgspecError)

log = logging.getLogger("penstock.store")

_decode = msgspec.json.Decoder(list[Claim]).decode


def lease(tx: Tx, statement: str, given: dict[str, Any]) -> int:
    """How many were leased. If one of them cannot be, what contradicts the other tables goes, and it is tried again."""
    try:
        tx.db.execute(statement, given)
    except apsw.ConstraintError:
        removed = [name for (name,) in tx.run("mend_ready")]
        if not removed:
            raise
        log.error("jobs that are under way, have ended or do not exist were waiting too, which was undone: %s",
                  ", ".join(removed))  # fmt: skip
        tx.db.execute(statement, given)
    return tx.db.changes()


def read_claims(tx: Tx, token: int) -> list[Claim]:
    """The claimed jobs as one document; one by one if their payloads together are too big for that, or if one of them
    cannot be read.
    """
    try:
        return _decode(tx.value("read_claims", after=token, upto=MAX_TOKEN))
    except (apsw.TooBigError, *UNREADABLE):
        return [claim for one in tx.array("tokens_after", token=token) for claim in _read_claim(tx, one)]


def _read_claim(tx: Tx, token: int) -> list[Claim]:
    """None if it cannot be read: nobody gets it, and it ends by the start timeout."""
    try:
        return _decode(tx.value("read_claims", after=token - 1, upto=token))
    except UNREADABLE as error:
        job_id = tx.value("job_of_token", token=token)
        log.error("the job %s cannot be read, so nobody can run it: the store is damaged; `penstock doctor --deep` "
                  "says how many there are: %s", job_id, error)  # fmt: skip
        return []


def free_parked(tx: Tx) -> None:
    """Jobs before gates that do not exist go on; the claims that get them make the gates again."""
    lost = tx.array("lost_parked", limit=FREED_MAX)
    if lost:
        tx.change("ready_lost_jobs", seqs=as_json(lost))
        tx.change("unpark_jobs", seqs=as_json(lost))
        tx.wake = True
        log.error(FREED, len(lost), tx.value("job_of_number", seq=lost[0]) or f"number {lost[0]}")
