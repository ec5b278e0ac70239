"""Jobs that were leased just now, as a claim answers them."""

from __future__ import annotations

import logging

import apsw
import msgspec

from penstock.store.contract import Claim
from penstock.store.sql.endings import ending_unreadable
from penstock.store.sql.happening import describe_leases, told_endings
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.sqlite.hot.finish import end_attempts
from penstock.store.sqlite.hot.lines import leave_line

MAX_TOKEN = 2**63 - 1
UNREADABLE = (apsw.SQLError, msgspec.MsgspecError)

log = logging.getLogger("penstock.store")

_decode = msgspec.json.Decoder(list[Claim]).decode


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
        endings = [ending_unreadable(token, str(error))]
        leases = tx.carry_out(describe_leases([token]))
        end_attempts(tx, endings, "default")
        tx.happened += told_endings(leases, endings, ())
        leave_line(tx, [job_id])
        return []
