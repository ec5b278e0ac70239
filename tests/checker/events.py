"""One line of a history: what a process asked of the store, what it was told, and what was noted beside.

Every process appends JSON lines to a file of its own. `at` is in microseconds by a clock that all processes share.
An `invoke` and its answer (`ok`, `fail`, `unknown`) are joined by process and `call`; a `note` stands alone. A call
without an answer is unknown as well: whoever asked did not live to hear it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

Phase = Literal["invoke", "ok", "fail", "unknown", "note"]
SUFFIX = ".jsonl"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all lines have. Of killed, paused and resumed, `process` is the one to whom it happened."""

    at: int
    process: str
    op: str
    phase: Phase
    call: int | None = None


class Trouble(Event, frozen=True, kw_only=True):
    """A fail, after which nothing is stored; or an unknown, after which nobody knows."""

    error: str = ""


# Jobs


class UniqueAsked(msgspec.Struct, frozen=True, omit_defaults=True):
    """`per` is in seconds; None holds the key until the job has ended."""

    key: str
    per: float | None = None


class JobAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job as it was handed in. `key` limits how many are active, `rate` how many begin in a while.

    `at` is by the store's clock; `delay` is in seconds from the enqueue.
    """

    id: str
    type: str = "task"
    queue: str = "default"
    priority: int = 0
    tenant: str | None = None
    max_attempts: int = 3
    unique: UniqueAsked | None = None
    key: str | None = None
    rate: str | None = None
    delay: float = 0.0
    at: int | None = None
    ttl: float | None = None
    resources: bool = False
    capability: str = "general"
    remove_on_complete: bool | int = False
    remove_on_fail: bool | int = False

    @property
    def removable(self) -> bool:
        """Whether its options may remove it once it has ended."""
        return self.remove_on_complete is not False or self.remove_on_fail is not False


class EnqueueAsked(Event, frozen=True, kw_only=True):
    jobs: tuple[JobAsked, ...]


class EnqueueTold(Event, frozen=True, kw_only=True):
    """In the order of the jobs. An id that is not the given one is that of the job that holds the unique key."""

    created: tuple[bool, ...]
    ids: tuple[str, ...]


class RetryAsked(Event, frozen=True, kw_only=True):
    new_ids: tuple[str, ...] = ()


class RetryTold(Event, frozen=True, kw_only=True):
    """(old id, new id)."""

    pairs: tuple[tuple[str, str], ...]


class CancelAsked(Event, frozen=True, kw_only=True):
    """Of cancel and cancel_workflow."""

    id: str


class CancelTold(Event, frozen=True, kw_only=True):
    before: str
    after: str


class FlowAsked(Event, frozen=True, kw_only=True):
    """Of pause and resume: `kind` is queue or type."""

    kind: str
    names: tuple[str, ...]


class RemovedTold(Event, frozen=True, kw_only=True):
    """Of prune and purge: how many jobs were removed."""

    removed: int


# Workflows


class StepAsked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Jobs that begin when all jobs of the steps with these numbers have ended."""

    jobs: tuple[JobAsked, ...] = ()
    after: tuple[int, ...] = ()
    on_failure: str = "stop"


class WorkflowAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workflow as it was handed in. Each of its jobs may come to be, or never."""

    id: str
    steps: tuple[StepAsked, ...]
    compensate: JobAsked | None = None


class EnqueueWorkflowAsked(Event, frozen=True, kw_only=True):
    workflow: WorkflowAsked


class EnqueueWorkflowTold(Event, frozen=True, kw_only=True):
    created: bool


class CancelWorkflowTold(Event, frozen=True, kw_only=True):
    """The state in which it was found, and whether all of its jobs have heard of it now."""

    before: str
    whole: bool


class RetryWorkflowAsked(Event, frozen=True, kw_only=True):
    """The new ids are for the jobs that ran and did not complete, in their order; the last compensates."""

    id: str
    new_ids: tuple[str, ...]


class JobsTold(Event, frozen=True, kw_only=True):
    """Of retry_workflow and settle: how many jobs."""

    jobs: int


# Attempts


class JobClaimed(msgspec.Struct, frozen=True, omit_defaults=True):
    """`passed_at` is when it passed its gates by the store's clock, where that was later than the claim."""

    id: str
    token: int
    attempt: int
    crashes: int = 0
    passed_at: int | None = None
    priority: int = 0
    """As it was then: ageing raises it."""


class ClaimTold(Event, frozen=True, kw_only=True):
    """`claimed_at` is by the store's clock."""

    session: int = 0
    jobs: tuple[JobClaimed, ...] = ()
    claimed_at: int | None = None


class TokensAsked(Event, frozen=True, kw_only=True):
    """Of start and progress."""

    tokens: tuple[int, ...]


class LostTold(Event, frozen=True, kw_only=True):
    """Which of the tokens were refused, because they are no longer current."""

    lost: tuple[int, ...] = ()


class Success(msgspec.Struct, frozen=True):
    id: str
    token: int


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """`event` is one of back_off, fail, release, snooze and cancel."""

    id: str
    token: int
    event: str
    crash: bool = False


class FollowUp(msgspec.Struct, frozen=True):
    """A job that is stored if the token of its parent still holds."""

    token: int
    job: JobAsked


class FollowingWorkflow(msgspec.Struct, frozen=True):
    """The same for a workflow."""

    token: int
    workflow: WorkflowAsked


class FinishAsked(Event, frozen=True, kw_only=True):
    completed: tuple[Success, ...] = ()
    unfinished: tuple[Failure, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    workflows: tuple[FollowingWorkflow, ...] = ()


class OnceAsked(Event, frozen=True, kw_only=True):
    """Of begin_once and end_once. `undone` says that the effect raised, and may be run again."""

    token: int
    key: str
    undone: bool = False


class OnceTold(Event, frozen=True, kw_only=True):
    """`run`, `done`, `uncertain`, or `lost` when the token is no longer current."""

    status: str


# Workers and the leader


class RegisterAsked(Event, frozen=True, kw_only=True):
    worker: str


class RegisterTold(Event, frozen=True, kw_only=True):
    session: int
    worker: str


class HeartbeatTold(Event, frozen=True, kw_only=True):
    session: int
    known: bool


class TakenTold(Event, frozen=True, kw_only=True):
    """Of recover: the jobs that were taken from lost workers. Of fail_unroutable: those that nobody can run."""

    jobs: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()


class GiveBackTold(Event, frozen=True, kw_only=True):
    """Claimed and not begun in time: those that wait again, and those to which it happened too often."""

    waiting: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()


class LeadTold(Event, frozen=True, kw_only=True):
    """`until` is the earliest moment, by the clock of the history, at which another may take the lead."""

    term: int
    acting: bool
    until: int | None = None


class Duty(Event, frozen=True, kw_only=True):
    """Something that a leader asks for by its term, or has done."""

    term: int
    name: str = ""


class ScheduleChanged(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a schedule, and the jobs that are stored with it."""

    schedule: str
    jobs: tuple[JobAsked, ...] = ()


class ScheduleAsked(Event, frozen=True, kw_only=True):
    """With a `term` it is a leader, who takes ticks: each job is due at one."""

    changes: tuple[ScheduleChanged, ...]
    term: int | None = None


class ScheduleTold(Event, frozen=True, kw_only=True):
    """The schedules that were as they were taken to be: what was asked of them is stored."""

    stored: tuple[str, ...]


# What handlers and tests note


class RunNoted(Event, frozen=True, kw_only=True):
    """A handler begins."""

    id: str
    token: int
    attempt: int = 1


class EffectNoted(Event, frozen=True, kw_only=True):
    """An effect was committed."""

    id: str
    token: int
    key: str = ""


_ASKED: dict[str, type[Event]] = {
    "enqueue": EnqueueAsked,
    "retry_dead": RetryAsked,
    "cancel": CancelAsked,
    "enqueue_workflow": EnqueueWorkflowAsked,
    "cancel_workflow": CancelAsked,
    "retry_workflow": RetryWorkflowAsked,
    "pause_work": FlowAsked,
    "resume_work": FlowAsked,
    "start": TokensAsked,
    "progress": TokensAsked,
    "finish": FinishAsked,
    "begin_once": OnceAsked,
    "end_once": OnceAsked,
    "register": RegisterAsked,
    "schedule": ScheduleAsked,
    "duty": Duty,
}
_TOLD: dict[str, type[Event]] = {
    "enqueue": EnqueueTold,
    "retry_dead": RetryTold,
    "cancel": CancelTold,
    "enqueue_workflow": EnqueueWorkflowTold,
    "cancel_workflow": CancelWorkflowTold,
    "retry_workflow": JobsTold,
    "settle": JobsTold,
    "pause_work": Event,
    "resume_work": Event,
    "purge_dead": RemovedTold,
    "prune": RemovedTold,
    "claim": ClaimTold,
    "start": LostTold,
    "progress": LostTold,
    "finish": LostTold,
    "begin_once": OnceTold,
    "end_once": OnceTold,
    "register": RegisterTold,
    "heartbeat": HeartbeatTold,
    "recover": TakenTold,
    "give_back": GiveBackTold,
    "expire": Event,
    "age": Event,
    "fail_unroutable": TakenTold,
    "mark": Event,
    "tend": Event,
    "lead": LeadTold,
    "schedule": ScheduleTold,
    "duty": Event,
}
_NOTED: dict[str, type[Event]] = {
    "duty": Duty,
    "run": RunNoted,
    "effect": EffectNoted,
    "killed": Event,
    "paused": Event,
    "resumed": Event,
}
STOPS = ("killed", "paused")


def kind_of(op: str, phase: Phase) -> type[Event]:
    """The form of a line."""
    if phase == "note" and op in _NOTED:
        return _NOTED[op]
    if phase != "note" and op in _TOLD:
        return {"invoke": _ASKED.get(op, Event), "ok": _TOLD[op]}.get(phase, Trouble)
    raise ValueError(f"a {phase} of {op!r} is not known; add its form to tests/checker/events.py")


class _Head(msgspec.Struct):
    op: str
    phase: Phase


def to_line(event: Event) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def from_line(line: bytes | str) -> Event:
    head = msgspec.json.decode(line, type=_Head)
    return msgspec.json.decode(line, type=kind_of(head.op, head.phase))


def read_file(path: Path) -> list[Event]:
    """The events of one process. A last line that was cut off, by a full disk or a power failure, is left out."""
    *lines, _ = path.read_bytes().split(b"\n")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(from_line(line))
        except (msgspec.MsgspecError, ValueError) as error:
            raise ValueError(f"{path}:{number} is not a line of a history ({error}): {line!r}") from None
    return found


def read_folder(folder: Path) -> list[Event]:
    """The events of all processes in the order of their moments."""
    return merge(read_file(path) for path in sorted(folder.glob(f"*{SUFFIX}")))


def merge(histories: Iterable[Iterable[Event]]) -> list[Event]:
    """One process's events of the same moment keep their order."""
    return sorted((event for events in histories for event in events), key=lambda event: event.at)
