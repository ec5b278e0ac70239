"""What each SQL engine does its own way: operations that are written once ask it for that.

An operation is given one of these, made for it alone. Each method is an operation itself, and notes what it does to
jobs; what the operation does beside that it notes too, and its answer tells all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.domain.flow.gates import Limit
from penstock.store import contract as p
from penstock.store.contract.happened import Happened
from penstock.store.sql.endings import Ending
from penstock.store.sql.rows import DeadJob
from penstock.store.sql.steps import Steps


class Noting:
    """What happens to jobs while one operation is carried out, perhaps among others of the same transaction."""

    def __init__(self, noted: list[Happened]) -> None:
        self._noted = noted
        self._mark = len(noted)

    def note(self, happened: Iterable[Happened]) -> None:
        self._noted += happened

    @property
    def happened(self) -> Sequence[Happened]:
        return tuple(self._noted[self._mark :])


class Found(NamedTuple):
    """Where a job is, a row of find_job: it has an outcome's state, or a lease's token, or waits at this place, perhaps
    before a gate, and perhaps for too long.
    """

    number: int | None
    """On SQLite."""
    outcome: int | None
    token: int | None
    lane: int
    due_at: int
    gate: int | None
    gates: str | None
    overdue: bool | None


class Engine(Protocol):
    """An engine, to one operation."""

    random: Callable[[], float]
    beats: dict[int, int]
    """The moment of the last heartbeat that was stored, by session, for the workers of this process. Only looked at."""

    def note(self, happened: Iterable[Happened]) -> None: ...

    @property
    def happened(self) -> Sequence[Happened]: ...

    def hold_claims(self) -> Steps[None]:
        """Claims that are under way have ended, and none begins until this transaction has."""
        ...

    def hold_schedules(self, names: Sequence[str]) -> Steps[None]:
        """Nobody else changes these until this transaction has ended."""
        ...

    def wake(self) -> Steps[None]:
        """Workers that wait look again when this has committed."""
        ...

    # Jobs

    def enqueue(
        self, jobs: Sequence[p.NewJob], retried_from: Mapping[str, str] | None = None, strict: bool = True,
        news: bool = True,
    ) -> Steps[list[p.Enqueued]]:  # fmt: skip
        """Store the jobs. `retried_from` names the dead letter of each; `strict` refuses two limits for one key:
        otherwise the one that is stored holds, since nobody is there to be told. Without `news` it is not noted that
        they are there: whoever has sent them knows.
        """
        ...

    def end_attempts(self, endings: Sequence[Ending]) -> Steps[p.Finished]:
        """Return the jobs that will be tried again, and end the others; history is kept as by default. Of what happened
        to them nothing is noted: see end_and_tell().
        """
        ...

    def expire(self, ids: Sequence[str] | None = None) -> Steps[None]:
        """End what has waited for longer than its time-to-live: of these jobs at least, or all there is."""
        ...

    def cancel_waiting(self, job_id: str, job: Found, reason: str) -> Steps[bool | None]:
        """End a job that waits where it was found. Answers whether its moment was still to come; None if it is not
        there any more. Nothing is noted.
        """
        ...

    def fail_waiting(self, fail: p.FailUnroutable) -> Steps[list[str]]:
        """End jobs that wait in a lane; answers which. Nothing is noted."""
        ...

    def raise_waiting(self, ageing: int, limit: int) -> Steps[int]:
        """Raise the priority of what has waited for so many microseconds; answers of how many."""
        ...

    def find_dead(self, filter: p.DeadFilter, limit: int) -> Steps[list[DeadJob]]:
        """The oldest dead letters that match, which nobody else changes until the end of the transaction."""
        ...

    def remove(self, ids: Sequence[str]) -> Steps[int]:
        """Remove ended jobs and all that is kept of them; answers how many. Nothing is noted."""
        ...

    # Limits

    def fix_limits(self, limits: Sequence[Limit]) -> Steps[None]:
        """What the config says is another than before, for all gates of its keys. What it said before is over."""
        ...

    def tend_gates(self, mend: bool) -> Steps[None]:
        """See to gates that nobody looks at; with `mend` also to jobs before gates that are gone."""
        ...

    # Workers

    def begin_sessions(self) -> Steps[None]:
        """Sessions and tokens that are given from now on are larger than all before."""
        ...

    def beat(self, session: int, moment: int) -> None:
        """A worker of this process was heard of, if this commits."""
        ...
