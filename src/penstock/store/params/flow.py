"""What people do to the flow of jobs: pause and resume queues and types, drain and resize workers."""

from __future__ import annotations

import msgspec

from penstock.domain.options import check_reason
from penstock.domain.pauses import Pause, PauseKind


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


class OpenJobs(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of one type in one queue that have not ended. `running` includes those claimed and not yet begun;
    `retrying` are those of the scheduled ones that were tried before; `blocked` wait for a limit.
    """

    type: str
    queue: str
    pending: int = 0
    scheduled: int = 0
    retrying: int = 0
    running: int = 0
    blocked: int = 0
    oldest_due_at: int | None = None


class DrainWorker(msgspec.Struct, frozen=True):
    """Tell a worker to claim no more, to finish what it has, and to stop."""

    worker_id: str
    actor: str = "client"


class ResizeWorker(msgspec.Struct, frozen=True):
    """Tell a worker to run at most so many jobs at once."""

    worker_id: str
    slots: int
    actor: str = "client"
