"""A job: its states, the one table of its transitions, and how it reads.

Engines, docs and tests derive from TRANSITIONS; no other place decides what may follow what.
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Literal

import msgspec

from penstock.domain.errors import ConfigError, PenstockError
from penstock.domain.options import Tenant
from penstock.domain.texts import brief


class State(StrEnum):
    """Where a job is in its life. The last four are final."""

    PENDING = "pending"
    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    CLAIMED = "claimed"
    RUNNING = "running"
    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class StateCode(IntEnum):
    """How engines store the final states. The numbers are part of the schema."""

    COMPLETED = 1
    DEAD = 2
    CANCELLED = 3
    EXPIRED = 4


class Event(StrEnum):
    """What can happen to a job; what history keeps is stored by these words. All are in the table, but ENQUEUE, before
    which there is no state, and REMOVE, after which there is none.
    """

    ENQUEUE = "enqueue"
    DUE = "due"
    BLOCK = "block"
    UNBLOCK = "unblock"
    CLAIM = "claim"
    START = "start"
    COMPLETE = "complete"
    BACK_OFF = "back_off"
    SNOOZE = "snooze"
    RELEASE = "release"
    GIVE_BACK = "give_back"
    RECOVER = "recover"
    FAIL = "fail"
    CANCEL = "cancel"
    EXPIRE = "expire"
    RETRIED = "retried"
    REMOVE = "remove"


_S, _E = State, Event

TRANSITIONS: dict[tuple[State, Event], State] = {
    (_S.SCHEDULED, _E.DUE): _S.PENDING,
    (_S.SCHEDULED, _E.CANCEL): _S.CANCELLED,
    (_S.BLOCKED, _E.UNBLOCK): _S.PENDING,
    (_S.BLOCKED, _E.CANCEL): _S.CANCELLED,
    (_S.BLOCKED, _E.EXPIRE): _S.EXPIRED,
    (_S.BLOCKED, _E.FAIL): _S.DEAD,
    (_S.PENDING, _E.BLOCK): _S.BLOCKED,
    (_S.PENDING, _E.CLAIM): _S.CLAIMED,
    (_S.PENDING, _E.CANCEL): _S.CANCELLED,
    (_S.PENDING, _E.EXPIRE): _S.EXPIRED,
    (_S.PENDING, _E.FAIL): _S.DEAD,
    (_S.CLAIMED, _E.START): _S.RUNNING,
    (_S.CLAIMED, _E.COMPLETE): _S.COMPLETED,
    (_S.CLAIMED, _E.BACK_OFF): _S.SCHEDULED,
    (_S.CLAIMED, _E.SNOOZE): _S.SCHEDULED,
    (_S.CLAIMED, _E.RELEASE): _S.PENDING,
    (_S.CLAIMED, _E.GIVE_BACK): _S.PENDING,
    (_S.CLAIMED, _E.RECOVER): _S.SCHEDULED,
    (_S.CLAIMED, _E.FAIL): _S.DEAD,
    (_S.CLAIMED, _E.CANCEL): _S.CANCELLED,
    (_S.RUNNING, _E.COMPLETE): _S.COMPLETED,
    (_S.RUNNING, _E.BACK_OFF): _S.SCHEDULED,
    (_S.RUNNING, _E.SNOOZE): _S.SCHEDULED,
    (_S.RUNNING, _E.RELEASE): _S.PENDING,
    (_S.RUNNING, _E.RECOVER): _S.SCHEDULED,
    (_S.RUNNING, _E.FAIL): _S.DEAD,
    (_S.RUNNING, _E.CANCEL): _S.CANCELLED,
    (_S.DEAD, _E.RETRIED): _S.DEAD,
    (_S.EXPIRED, _E.RETRIED): _S.EXPIRED,
}

FINAL = frozenset({State.COMPLETED, State.DEAD, State.CANCELLED, State.EXPIRED})
DEAD_LETTERS = frozenset({State.DEAD, State.EXPIRED})

# The words of other systems, understood in filters (J10).
SYNONYMS: dict[str, frozenset[State]] = {
    "requested": frozenset({State.PENDING}),
    "waiting": frozenset({State.PENDING}),
    "delayed": frozenset({State.SCHEDULED}),
    "active": frozenset({State.RUNNING}),
    "failed": DEAD_LETTERS,
    "dead_letter": frozenset({State.DEAD}),
}

DecidedBy = Literal["worker", "recovery", "start-timeout", "ttl", "routing", "probe", "operator", "store"]


def next_state(state: State, event: Event) -> State:
    """The state after `event`, or an error: nothing else may change a job."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise PenstockError(f"a {state} job cannot take the event {event!r}") from None


def states_named(word: str) -> frozenset[State]:
    """The states behind a word of ours or of another system."""
    try:
        return SYNONYMS.get(word) or frozenset({State(word)})
    except ValueError:
        known = ", ".join([*State, *SYNONYMS])
        raise ConfigError(f"state {brief(word)} does not exist; use one of: {known}") from None


class ErrorInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an attempt raised, bounded in size, safe to store and to show."""

    type: str
    message: str
    stack: str = ""
    code: str | None = None
    transient: bool = False


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a running job is: a percentage, a phase, and whatever else the handler said."""

    percent: float | None = None
    phase: str | None = None
    data: dict[str, Any] | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job as it reads (J9)."""

    id: str
    type: str
    queue: str
    capability: str
    state: State
    payload: Any
    priority: int
    attempt: int
    max_attempts: int
    crashes: int
    snoozes: int = 0
    created_at: datetime
    due_at: datetime
    tenant: Tenant | None = None
    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    claimed_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    worker_id: str | None = None
    worker_heartbeat_at: datetime | None = None
    progress: Progress | None = None
    result: Any = None
    error: ErrorInfo | None = None
    reason: str | None = None
    decided_by: DecidedBy | None = None
    parent: str | None = None
    retried_from: str | None = None
    retried_as: str | None = None
    cancel_requested: bool = False
    app_version: str | None = None
    """Of the program that had its last attempt."""


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One stored step in a job's life."""

    at: datetime
    event: Event
    attempt: int
    worker_id: str | None = None
    reason: str | None = None
    error: ErrorInfo | None = None
