"""What has waited for longer than its time-to-live ends."""

from __future__ import annotations

from penstock.store.postgres.mend import tell_removed
from penstock.store.postgres.steps import Steps, run

EXPIRED_PAGE = 1000


def expire_these(ids: list[str]) -> Steps[None]:
    """End those of them that waited for too long, and wait for nobody with anything of others in hand."""
    in_line = yield from run("expire_these", ids=ids)
    if in_line:
        yield from run("leave_line", ids=[id_ for (id_,) in in_line])


def expire_all() -> Steps[None]:
    """End all that waited for too long, a page at a time."""
    page = EXPIRED_PAGE
    while page == EXPIRED_PAGE:
        [(page, in_line, odd)] = yield from run("expire_jobs")
        tell_removed(odd)
        if in_line:
            yield from run("leave_line", ids=in_line)
