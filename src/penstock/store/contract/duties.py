"""What the leader does for all, in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from penstock.domain.options import (
    Resources,
)
from penstock.store.call import Call
from penstock.store.contract.happened import Changed, Expired, Happened, Unroutable


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
    """Workers that were declared lost, and their jobs: RECOVER, FAIL, or CANCEL where that had been asked. `silent` is
    for how many seconds each of those was not heard of whose status has changed by this.
    """

    workers: list[str]
    jobs: list[str]
    more: bool = False
    happened: Sequence[Happened] = ()
    silent: Sequence[float] = ()


class GiveBackJobs(msgspec.Struct, frozen=True):
    """Take back jobs that were claimed `start_timeout` seconds ago and have not begun. No attempt is spent.

    One that was given back `times_max` times before is dead.
    """

    start_timeout: float
    term: int | None = None
    times_max: int = 3
    limit: int = 500


class GivenBack(msgspec.Struct, frozen=True):
    """The ids of jobs that wait again (GIVE_BACK), and of those that are dead now (FAIL). What happened also has those
    that end cancelled, because that had been asked.
    """

    waiting: list[str]
    dead: list[str]
    happened: Sequence[Happened] = ()


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


class SettleWorkflows(msgspec.Struct, frozen=True):
    """Take note of jobs that ended and did not say so to their workflow."""

    term: int | None = None
    limit: int = 1000


class Duties(Protocol):
    """What one worker does for all; the term of its lead fences it."""

    def lead_store(self, params: LeadStore) -> Call[Leadership]:
        """Take the lead if it is free, keep it if it is this worker's, or give it up.

        One worker leads at a time, by the store's clock. Every new holder has a larger term than all before it; every
        call that carries an older term means NotLeader, and changes nothing, from the moment the next has taken over.
        A worker that is not registered, was declared lost or does not answer probes cannot lead.
        """
        ...

    def recover_jobs(self, params: RecoverJobs) -> Call[Recovered]:
        """Declare stale workers lost and put their jobs through the retry policy: attempt spent, crash counted.

        By the store's clock a worker is never judged by less patience than it registered with. Whoever names those that
        were not heard of has judged them; a heartbeat since saves its worker.
        A job with attempts left is scheduled again by its backoff; one without is dead, decided_by recovery.
        Jobs whose worker has no row any more are taken back as those of a lost one, which is told as `session N`.
        Old tokens are no longer current. A page that is full answers more=True and never starves the rest.
        """
        ...

    def give_back_jobs(self, params: GiveBackJobs) -> Call[GivenBack]:
        """Take back what was claimed too long ago and has not begun: no attempt is spent, old tokens are not current.

        A worker that was not heard of since the time was over is left to recover_jobs().
        A job to which this has happened too often is dead, decided_by start-timeout.
        """
        ...

    def expire_jobs(self, params: ExpireJobs) -> Call[Expired]:
        """End pending jobs whose time-to-live has passed, also while nobody claims; expired, decided_by ttl."""
        ...

    def age_jobs(self, params: AgeJobs) -> Call[Changed]:
        """Raise the priority of pending jobs that have waited for long, the oldest first; answers of how many.

        Never lowers one. Touches only jobs that are raised, and each once for every time `ageing`, so that a store
        in which much waits is not written anew. After a failed attempt a job waits anew from when it is due again,
        with the priority that it had reached.
        """
        ...

    def fail_unroutable(self, params: FailUnroutable) -> Call[Unroutable]:
        """End pending jobs for which there is no worker; dead, decided_by routing. Answers them, a page at most.

        Whoever asks has judged that there is none. A job that was claimed meanwhile is left alone, and so is one whose
        queue or type is paused.
        """
        ...

    def tend_gates(self, params: TendGates) -> Call[None]:
        """Look after gates that have room and that nobody looks at, and forget those that nobody needs."""
        ...

    def mark_workers(self, params: MarkWorkers) -> Call[None]:
        """Workers that do not answer probes: their claims mean WorkerInactive until they are marked as well again, or
        the mark is over.

        Their heartbeats go on, and so do their running jobs.
        """
        ...

    def settle_workflows(self, params: SettleWorkflows) -> Call[Changed]:
        """Tell workflows of jobs that ended without them: expired, cancelled by a person, lost with their worker.

        Answers how many jobs; a full page means that there may be more.
        """
        ...

    def prune_jobs(self, params: PruneJobs) -> Call[Changed]:
        """Remove ended jobs that retention no longer keeps; answers how many. Never touches one that has not ended."""
        ...
