"""Rows that contradict each other: the claim or the duty that meets them gets past them, loudly.

Nothing in penstock makes such rows. A hand in the tables may, a defect, or a copy that was put together of parts, and
then one of them must not stand before all other jobs for good.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import psycopg

from penstock.store.sql.faults import FREED, FREED_MAX
from penstock.store.sql.steps import Rows, Steps, run

MENDED_MAX = 100
"""So many a claim gets past; the next one goes on."""

log = logging.getLogger("penstock.store")

_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def soundly(name: str, /, **parameters: Any) -> Steps[Rows]:
    """`run`, for a statement that is a transaction of its own: what contradicts its rows goes, and it is run again.

    The server names the job whose row is there already. Where removing does not help, the error is as it was.
    """
    for _ in range(MENDED_MAX):
        try:
            return (yield from run(name, **parameters))
        except psycopg.IntegrityError as error:
            ids = _ID.findall(error.diag.message_detail or "")
            removed = (yield from run("mend_jobs", ids=ids)) if ids else []
            if not removed:
                raise
            for id_, place, why in removed:
                log.error("job %s was in %s although %s: it was taken out of there (%s)", id_, place, why, error)
    return (yield from run(name, **parameters))


def tell_removed(ids: Sequence[str] | None) -> None:
    """Of pointers that a statement has removed because what they point to does not wait."""
    for id_ in ids or ():
        log.error(
            "job %s was waiting although it has ended, is under way, or does not exist: it was taken out of there", id_
        )


def free_parked() -> Steps[None]:
    """Jobs before gates that do not exist go on; the claims that get them make the gates again."""
    [(freed, example, _)] = yield from run("free_parked", limit=FREED_MAX)
    if freed:
        log.error(FREED, freed, example)


def is_passing(error: psycopg.Error) -> bool:
    """Whether the connection can be used after this error of the server."""
    state = error.sqlstate
    return state is not None and not state.startswith(("08", "57P"))
