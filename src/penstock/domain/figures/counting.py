"""What each thing that happens to a job counts as. Attempts are counted by their worker, and all else by the store, as
a part of the operation that does it: see docs/decisions/0028-figures.md.
"""

from __future__ import annotations

from penstock.domain.figures.series import Count
from penstock.domain.job import DecidedBy, Event

_BY_EVENT: dict[Event, tuple[Count, ...]] = {
    Event.COMPLETE: (Count.COMPLETED,),
    Event.BACK_OFF: (Count.FAILED, Count.RETRIED),
    Event.SNOOZE: (Count.SNOOZED,),
    Event.RELEASE: (Count.RELEASED,),
    Event.GIVE_BACK: (Count.START_TIMEOUT,),
    Event.RECOVER: (Count.RECOVERED, Count.RETRIED),
    Event.FAIL: (Count.FAILED, Count.DEAD),
    Event.CANCEL: (Count.CANCELLED,),
    Event.EXPIRE: (Count.EXPIRED,),
}
_DEAD_BY: dict[DecidedBy | None, tuple[Count, ...]] = {
    "recovery": (Count.RECOVERED, Count.DEAD),
    "start-timeout": (Count.START_TIMEOUT, Count.DEAD),
    "routing": (Count.DEAD,),
    "store": (Count.DEAD,),
}


def counts_of(event: Event, decided_by: DecidedBy | None = "worker") -> tuple[Count, ...]:
    """What it counts as; nothing for what neither ends nor returns a job."""
    if event is Event.FAIL:
        return _DEAD_BY.get(decided_by, _BY_EVENT[Event.FAIL])
    return _BY_EVENT.get(event, ())
