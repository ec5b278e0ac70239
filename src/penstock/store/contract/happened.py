"""What happened to jobs: every operation that ends, returns or moves some of them answers it, one of these for each.

It is what the store has done, not what was asked of it. One module of observe hands it on; whatever counts, logs or
alerts listens there. What a caller has sent and knows of is not told again: new jobs and outcomes are many and come in
batches, and of them the store answers only which are not as sent. Nor is told what comes by itself: that a moment has
come, or a limit has room. In a transaction of the caller's it is what will have happened if that commits.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.job import DecidedBy, Event, State
from penstock.domain.options import Tenant


class Happened(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One job: what happened, and how it is now. `state` is the one after it, None where the job was removed.

    `attempt` is the number of the attempt that it happened to, and 0 before the first. `error` is the type of what it
    failed with, `worker` the id of the worker that had it, where the store knows it still; `reason` is in words.
    """

    event: Event
    id: str
    type: str
    queue: str
    capability: str
    tenant: Tenant | None = None
    attempt: int = 0
    state: State | None = None
    decided_by: DecidedBy | None = None
    error: str | None = None
    worker: str | None = None
    reason: str | None = None
    tags: tuple[str, ...] = ()


class Finished(msgspec.Struct, frozen=True, gc=False):
    """Which outcomes are not stored as they were sent, by token; those that are in neither are.

    `lost`: no longer current, and nothing was changed. `cancelled`: of a job that a person had asked to cancel, so that
    it has ended cancelled, though its attempt had completed, failed or gone back. `happened` to other jobs because of
    these: what begins and ends in their workflows, and what expires or ends at once as a follow-up is stored.
    """

    lost: list[int] = []
    cancelled: list[int] = []
    happened: Sequence[Happened] = ()


ALL_STORED = Finished()


class Changed(msgspec.Struct, frozen=True):
    """How many jobs an operation has changed, and what happened to jobs, also to others on its way."""

    jobs: int
    happened: Sequence[Happened] = ()


class Expired(msgspec.Struct, frozen=True):
    """Jobs that had waited for longer than their time-to-live."""

    happened: Sequence[Happened] = ()


class Unroutable(msgspec.Struct, frozen=True):
    """Jobs that have ended because no worker can run them."""

    ids: list[str]
    happened: Sequence[Happened] = ()
