"""What the leader does for all, in time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.options import Resources


class LeadStore(msgspec.Struct, frozen=True):
    """Take or keep the lead for `lease` seconds; None gives it up."""

    session: int
    lease: float | None


class Leadership(msgspec.Struct, frozen=True):
    """Who leads: `acting` says that it is whoever asked. The lead is free after `free_in` seconds at the latest."""

    term: int
    acting: bool
    worker_id: str | None
    free_in: float


class RecoverJobs(msgspec.Struct, frozen=True):
    """Take back the jobs of workers whose heartbeat is older than `stale_after`, and than what they registered.

    Whoever has watched them itself says who was `unheard`: sessions, each with the moment of its last heartbeat as it
    is stored. Then the store's clock is not asked, and one that has been heard of since is left alone. The `term` of a
    leader fences it; an `actor`, a person who asks, has none and is audited. `mend` also takes back jobs whose worker
    has no row any more, which reads every lease.
    """

    stale_after: float
    limit: int = 500
    term: int | None = None
    actor: str | None = None
    unheard: Sequence[tuple[int, int]] | None = None
    mend: bool = True


class Recovered(msgspec.Struct, frozen=True):
    workers: list[str]
    jobs: list[str]
    more: bool = False


class GiveBackJobs(msgspec.Struct, frozen=True):
    """Take back jobs that were claimed `start_timeout` seconds ago and have not begun. No attempt is spent.

    One that was given back `times_max` times before is dead.
    """

    start_timeout: float
    term: int | None = None
    times_max: int = 3
    limit: int = 500


class GivenBack(msgspec.Struct, frozen=True):
    """The ids of jobs that wait again, and of those that are dead now."""

    waiting: list[str]
    dead: list[str]


class ExpireJobs(msgspec.Struct, frozen=True):
    """End jobs that waited for longer than their time-to-live."""

    term: int | None = None


class AgeJobs(msgspec.Struct, frozen=True):
    """Give pending jobs that have been due for n times `ageing` seconds at least the priority n, `limit` at most."""

    ageing: float
    term: int | None = None
    limit: int = 500


class FailUnroutable(msgspec.Struct, frozen=True, kw_only=True):
    """End pending jobs of a lane for which there is no worker, at most `limit` a call."""

    type: str
    queue: str
    capability: str
    resources: Resources
    reason: str
    limit: int = 1000
    term: int | None = None


class TendGates(msgspec.Struct, frozen=True):
    """Look after gates: open those that have room and were forgotten, and forget those that nobody needs.

    `mend` also looks for jobs that wait before gates which are gone, which takes longer the more keys there are.
    """

    term: int | None = None
    mend: bool = True


class MarkWorkers(msgspec.Struct, frozen=True):
    """Sessions that did not answer probes and get no more jobs, those that answer again, and those never reached.

    A mark is over after as many heartbeats of its worker as there are in `lasts` seconds, whatever clocks say: it must
    not outlive the leader that renews it.
    """

    failing: Sequence[int] = ()
    well: Sequence[int] = ()
    term: int | None = None
    unreached: Sequence[int] = ()
    lasts: float = 90.0


class PruneJobs(msgspec.Struct, frozen=True, kw_only=True):
    """Remove what the retention rule no longer keeps, at most `limit` jobs a call."""

    completed_after: float
    cancelled_after: float
    dead_after: float | None = None
    limit: int = 1000
    term: int | None = None
