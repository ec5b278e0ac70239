"""What has waited for longer than its time-to-live ends."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.store.contract import Happened
from penstock.store.postgres.hot.mend import tell_removed
from penstock.store.sql.happening import tell_expired
from penstock.store.sql.rows import EXPIRED_REASON
from penstock.store.sql.steps import Steps, run

EXPIRED_PAGE = 1000


def expire_these(ids: Sequence[str]) -> Steps[list[Happened]]:
    """End those of them that waited for too long, and wait for nobody with anything of others in hand."""
    expired = yield from run("expire_these", ids=list(ids), reason=EXPIRED_REASON)
    in_line = [id_ for id_, lined in expired if lined]
    if in_line:
        yield from run("leave_line", ids=in_line)
    return (yield from tell_expired([id_ for id_, _ in expired]))


def expire_all(counts: bool = False) -> Steps[list[Happened]]:
    """End all that waited for too long, a page at a time. `counts`: also in the figures, by the statement itself."""
    page, happened = EXPIRED_PAGE, list[Happened]()
    while page == EXPIRED_PAGE:
        [(page, expired, in_line, odd)] = yield from run("expire_jobs", reason=EXPIRED_REASON, counts=counts)
        tell_removed(odd)
        if in_line:
            yield from run("leave_line", ids=in_line)
        happened += yield from tell_expired(expired)
    return happened
