"""How well a store and its workers are: healthy, degraded or unhealthy, the worst of four checks (O2).

Judged from what was read, and nothing else; reading is in observe/reading.py. Never a part of liveness: a worker whose
store is away is alive, and nobody is helped when it is killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.flow.pauses import Pause, Pauses
from penstock.observe.stuck import takers_among, unpaused_lanes
from penstock.observe.words import about, counted, counted_jobs, paused_for
from penstock.store.contract import AlertPage, AlertRow, Told, Waiting, WorkerInfo

Status = Literal["healthy", "degraded", "unhealthy", "unknown"]

PING_SECONDS_MAX = 0.1
WAIT_SECONDS_DEGRADED = 300.0
WAIT_SECONDS_UNHEALTHY = 3600.0
QUEUES_MAX = 100
COUNTED_MAX = 1_000
DEAD_COUNTED_MAX = 1_000_000
"""The largest limit that can be set; to count so many takes a fraction of a second."""
PAUSES_NAMED_MAX = 5
NOTHING_PAUSED = Pauses()
START_ONE = "start one: penstock worker MODULE:APP"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What is enough, and what is too much."""

    min_workers: int = 1
    dead_letter_threshold: int = 100


@dataclass(slots=True)
class Facts:
    """What was read so far. None is not known: `error` says why, or `late` how long was waited for it."""

    durability: str | None = None
    ping: float | None = None
    now_us: int = 0
    workers: Sequence[WorkerInfo] | None = None
    lanes: Sequence[Waiting] | None = None
    pauses: Pauses = NOTHING_PAUSED
    dead: int | None = None
    queues: int | None = None
    alerts: AlertPage | None = None
    error: str | None = None
    late: float | None = None


class Check(msgspec.Struct, frozen=True):
    """One thing that was judged. What is not healthy says what to do about it."""

    name: str
    status: Status
    message: str
    fix: str | None = None


class QueueWaiting(msgspec.Struct, frozen=True):
    """A queue with pending jobs. `more`: counting stopped, there are that many or more."""

    queue: str
    waiting: int
    more: bool
    oldest_seconds: float


class OldestWaiting(msgspec.Struct, frozen=True):
    """The job that has been due for the longest."""

    type: str
    queue: str
    seconds: float


class PausedWork(msgspec.Struct, frozen=True):
    """A queue or a type that a person has paused, and how many jobs wait for it."""

    kind: str
    name: str
    seconds: float
    by: str
    reason: str | None
    waiting: int
    more: bool


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """The figures behind the checks; None is not known. At most a hundred queues, those that wait longest first.

    `total_queues` is how many there are, with jobs or without. The oldest waiting job is one that is not paused.
    """

    ping_seconds: float | None
    durability: str | None
    active_workers: int | None
    total_queues: int | None
    queues: list[QueueWaiting] | None
    oldest_waiting: OldestWaiting | None
    paused: list[PausedWork] | None
    dead_letters: int | None


class Health(msgspec.Struct, frozen=True):
    """The judgement. `status` is healthy, degraded or unhealthy."""

    status: Status
    checks: list[Check]
    details: Details


def judge(facts: Facts, limits: Limits) -> Health:
    """The worst of store, workers, queues and dead letters; and of alerts, if some do not arrive."""
    workers, lanes, dead = facts.workers, facts.lanes, facts.dead
    checks = [
        judge_store(facts),
        _unread("workers", facts) if workers is None else judge_workers(workers, limits.min_workers),
        _unread("queues", facts) if lanes is None else judge_queues(lanes, facts.now_us, facts.pauses),
        _unread("dead letters", facts) if dead is None else judge_dead(dead, limits.dead_letter_threshold),
    ]
    if facts.alerts is not None:
        checks += judge_alerts(facts.alerts)
    return Health(worst(check.status for check in checks), checks, _details(facts))


def worst(statuses: Iterable[Status]) -> Status:
    """What could not be read in time is no good sign, and no proof of harm either."""
    found = {"degraded" if status == "unknown" else status for status in statuses}
    return "unhealthy" if "unhealthy" in found else "degraded" if "degraded" in found else "healthy"


# The checks


def judge_store(facts: Facts) -> Check:
    """Whether it answers, and how soon."""
    if facts.error is not None:
        message, _, fix = facts.error.partition("; ")
        return Check("store", "unhealthy", message, fix or "penstock doctor says what is wrong with it")
    if facts.ping is None:
        waited = format_duration(facts.late or 0.0)
        return Check(
            "store", "unhealthy", f"it did not answer within {waited}",
            "is its server or disk overloaded, or cut off? penstock doctor tells more",
        )  # fmt: skip
    said = f"answers in {facts.ping * 1000:.1f} ms"
    if facts.ping > PING_SECONDS_MAX:
        return Check("store", "degraded", f"{said}: slow", "look for load on its machine, on its disk and on the way")
    return Check("store", "healthy", f"{said}; {facts.durability}" if facts.durability else said)


def judge_workers(workers: Sequence[WorkerInfo], minimum: int) -> Check:
    """Enough, some, or none that claim jobs: a draining one takes nothing more, a stale one may be dead."""
    active = len(takers_among(workers))
    said = f"{counted(active, 'active worker')}, {minimum:,} wanted"
    if active >= minimum:
        return Check("workers", "healthy", said)
    if active > 0:
        return Check("workers", "degraded", said, f"start {minimum - active:,} more: penstock worker MODULE:APP")
    return Check("workers", "unhealthy", f"no worker is active, {minimum:,} wanted: what is enqueued waits", START_ONE)


def judge_queues(lanes: Sequence[Waiting], now_us: int, pauses: Pauses = NOTHING_PAUSED) -> Check:
    """How long the oldest job has waited. One that is paused may wait for as long as people want; that is told."""
    paused = _told(lanes, pauses, now_us)
    free = unpaused_lanes(lanes, pauses)
    oldest = oldest_waiting(free, now_us)
    if oldest is None:
        return Check("queues", "healthy", f"no job waits but what is paused; {paused}" if paused else "no job waits")
    said = (
        f"{counted_jobs(free, COUNTED_MAX)} waiting, the oldest for {about(oldest.seconds)} "
        f"({oldest.type!r} in queue {oldest.queue!r})" + (f"; {paused}" if paused else "")
    )
    if oldest.seconds <= WAIT_SECONDS_DEGRADED:
        return Check("queues", "healthy", said)
    status: Status = "unhealthy" if oldest.seconds > WAIT_SECONDS_UNHEALTHY else "degraded"
    return Check("queues", status, said, "penstock doctor says whether a worker takes it; if one does, start more")


def judge_dead(dead: int, threshold: int) -> Check:
    if dead == 0:
        return Check("dead letters", "healthy", "none")
    more = " or more" if dead >= DEAD_COUNTED_MAX else ""
    said = f"{counted(dead, 'dead letter')}{more}, the limit is {threshold:,}"
    fix = "look at them with: penstock dead list; then retry or purge them"
    return Check("dead letters", "degraded" if dead < threshold else "unhealthy", said, fix)


def judge_alerts(page: AlertPage) -> list[Check]:
    """Nothing, unless somebody cannot be told."""
    found = unheard(page.alerts)
    said = "; ".join(
        f"{name} does not hear of {counted(number, 'alert')}: {why}" for name, (number, why) in found.items()
    )
    fix = "try it with: penstock alerts test; see what it missed with: penstock alerts list --all"
    return [Check("alerts", "degraded", said, fix)] if found else []


def unheard(alerts: Iterable[AlertRow]) -> dict[str, tuple[int, str]]:
    """By sink that fails how many alerts did not arrive there, and why. Those after the first that failed were not even
    tried, so they have no error of their own.
    """
    missed = [(name, told.error) for row in alerts for name, told in row.told.items() if _is_missed(row, told)]
    why = {name: error for name, error in missed if error is not None}
    return {name: (sum(sink == name for sink, _ in missed), error) for name, error in why.items()}


def _is_missed(row: AlertRow, told: Told) -> bool:
    return not told.arrived and (row.state == "firing" or not told.given_up)


def _unread(name: str, facts: Facts) -> Check:
    if facts.ping is not None and facts.late is not None and facts.error is None:
        waited = format_duration(facts.late)
        return Check(name, "unknown", f"could not be read within {waited}", "ask again with more patience: --timeout")
    return Check(name, "unknown", "not known while the store does not answer")


# What is looked at


def oldest_waiting(lanes: Sequence[Waiting], now_us: int) -> OldestWaiting | None:
    oldest = min(lanes, key=lambda lane: lane.oldest_due_at, default=None)
    return None if oldest is None else OldestWaiting(oldest.type, oldest.queue, _waited(oldest, now_us))


def waiting_by_queue(lanes: Sequence[Waiting], now_us: int) -> list[QueueWaiting]:
    """Those with pending jobs, the one that waits longest first."""
    queues: dict[str, list[Waiting]] = {}
    for lane in sorted(lanes, key=lambda lane: lane.oldest_due_at):
        queues.setdefault(lane.queue, []).append(lane)
    return [
        QueueWaiting(
            name,
            sum(lane.jobs for lane in found),
            any(lane.jobs >= COUNTED_MAX for lane in found),
            _waited(found[0], now_us),
        )
        for name, found in list(queues.items())[:QUEUES_MAX]
    ]


def _waited(lane: Waiting, now_us: int) -> float:
    return max(0.0, (now_us - lane.oldest_due_at) / MICROSECONDS)


def _told(lanes: Sequence[Waiting], pauses: Pauses, now_us: int) -> str:
    """What is paused, in words; empty when nothing is."""
    told = [
        f"{paused_for(pause, now_us)} ({counted_jobs(_held_by(pause, lanes), COUNTED_MAX)} waiting)"
        for pause in list(pauses)[:PAUSES_NAMED_MAX]
    ]
    more = len(list(pauses)) - len(told)
    return "; ".join([*told, *([f"{more:,} more paused: penstock queues"] if more else [])])


def paused_work(lanes: Sequence[Waiting], pauses: Pauses, now_us: int) -> list[PausedWork]:
    found = []
    for pause in pauses:
        held = _held_by(pause, lanes)
        waiting, more = sum(lane.jobs for lane in held), any(lane.jobs >= COUNTED_MAX for lane in held)
        seconds = max(0.0, (now_us - pause.since) / MICROSECONDS)
        found.append(PausedWork(pause.kind, pause.name, seconds, pause.actor, pause.reason, waiting, more))
    return found


def _held_by(pause: Pause, lanes: Sequence[Waiting]) -> list[Waiting]:
    return [lane for lane in lanes if (lane.queue if pause.kind == "queue" else lane.type) == pause.name]


def _details(facts: Facts) -> Details:
    lanes = facts.lanes
    return Details(
        ping_seconds=facts.ping,
        durability=facts.durability,
        active_workers=None if facts.workers is None else len(takers_among(facts.workers)),
        total_queues=facts.queues,
        queues=None if lanes is None else waiting_by_queue(lanes, facts.now_us),
        oldest_waiting=None if lanes is None else oldest_waiting(unpaused_lanes(lanes, facts.pauses), facts.now_us),
        paused=None if lanes is None else paused_work(lanes, facts.pauses, facts.now_us),
        dead_letters=facts.dead,
    )
