"""What people and programs do to jobs, queues and workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from penstock.domain.flow.pauses import Pause, PauseKind
from penstock.domain.job import State
from penstock.domain.options import (
    Options,
    check_reason,
)
from penstock.store.call import Call
from penstock.store.contract.happened import Changed, Happened
from penstock.store.contract.reads import DeadFilter


class CancelJob(msgspec.Struct, frozen=True):
    id: str
    actor: str = "client"


class Cancelled(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """`before` is the state in which the cancel found the job; `after` is the state that it has now.

    A waiting job is cancelled at once. A claimed or running one keeps its state and is asked to stop.
    """

    before: State
    after: State
    happened: Sequence[Happened] = ()


class RetryDead(msgspec.Struct, frozen=True, kw_only=True):
    """Make a new job of each dead letter, with the type's current options (`types`, else as last declared)."""

    filter: DeadFilter
    new_ids: Sequence[str]
    types: dict[str, Options] = {}
    force: bool = False
    actor: str = "operator"


class Retried(msgspec.Struct, frozen=True):
    """The dead letters that are jobs again, (old id, new id); RETRIED of the old, ENQUEUE of the new."""

    pairs: list[tuple[str, str]]
    happened: Sequence[Happened] = ()


class PurgeDead(msgspec.Struct, frozen=True, kw_only=True):
    filter: DeadFilter
    limit: int = 1000
    actor: str = "operator"


class PauseWork(msgspec.Struct, frozen=True, kw_only=True):
    """Give out no jobs of these queues, or types. `force` also pauses a name that this store has never seen."""

    kind: PauseKind
    names: tuple[str, ...]
    actor: str = "client"
    reason: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        check_reason(self.reason)


class ResumeWork(msgspec.Struct, frozen=True, kw_only=True):
    """Give out jobs of these again. With `force` a name that this store has never seen is simply not paused."""

    kind: PauseKind
    names: tuple[str, ...]
    actor: str = "client"
    force: bool = False


class Switched(msgspec.Struct, frozen=True):
    """What became of one name. `pause` is the one that holds now, or that has ended; None when there was none.

    `changed` is False when it was paused, or was not, before.
    """

    name: str
    changed: bool
    pause: Pause | None


class DrainWorker(msgspec.Struct, frozen=True):
    """Tell a worker to claim no more, to finish what it has, and to stop."""

    worker_id: str
    actor: str = "client"


class ResizeWorker(msgspec.Struct, frozen=True):
    """Tell a worker to run at most so many jobs at once."""

    worker_id: str
    slots: int
    actor: str = "client"


class Operations(Protocol):
    """What people and programs do to jobs, queues and workers. Each act is audited with who did it."""

    def cancel_job(self, params: CancelJob) -> Call[Cancelled]:
        """Cancel a waiting job at once, or ask a claimed or running one to stop.

        After it commits no new attempt starts. A final job stays as it is. An unknown id means UnknownJob.
        """
        ...

    def retry_dead(self, params: RetryDead) -> Call[Retried]:
        """Make a new job of each matching dead letter, at most one per given new id.

        Old and new are linked both ways; the old one leaves the depth. Retried before means AlreadyRetried
        unless forced; a named id that is not a dead letter means UnknownJob. Audited.
        """
        ...

    def purge_dead(self, params: PurgeDead) -> Call[Changed]:
        """Remove matching dead letters for good, at most `limit` a call; answers how many. Audited."""
        ...

    def pause_work(self, params: PauseWork) -> Call[list[Switched]]:
        """Give out no more jobs of these queues or types, to nobody, from the moment this is committed.

        What runs goes on. What waits stays where it is: it counts as pending, expires and can be cancelled. Pausing
        again changes nothing and says so. A name that the store has never seen means UnknownQueue or UnknownType,
        and nothing is paused, unless forced. Audited.
        """
        ...

    def resume_work(self, params: ResumeWork) -> Call[list[Switched]]:
        """End pauses, and wake the workers that wait. What is not paused stays so. Audited."""
        ...

    def drain_worker(self, params: DrainWorker) -> Call[bool]:
        """Tell a worker to claim no more, finish what it has, and stop. False when it was draining before.

        From the moment this is committed its claims give nothing. It is woken to hear of it. One that is not alive
        means UnknownWorker. Audited.
        """
        ...

    def resize_worker(self, params: ResizeWorker) -> Call[int]:
        """Tell a worker to run at most so many jobs at once; answers how many it was before. Audited.

        It is woken to hear of it. One that is not alive means UnknownWorker.
        """
        ...
