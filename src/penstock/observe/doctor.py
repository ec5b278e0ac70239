"""What is wrong with a store and its workers, through the contract alone; each with its fix. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from penstock.domain.clock import MICROSECONDS, Clock
from penstock.domain.duration import format_duration, format_size
from penstock.domain.errors import StoreError
from penstock.domain.routing import Obstacle, missing_resources, why_not
from penstock.store.contract import Store
from penstock.store.params import (
    CheckStore,
    CountWaiting,
    DeadFilter,
    Finding,
    Level,
    ListDead,
    ListJobs,
    Waiting,
    WorkerInfo,
)

PING_SECONDS_MAX = 0.1
SKEW_SECONDS_MAX = 2.0
LOST_SECONDS = 3600.0
NAMED_MAX = 5
LANES_MAX = 20
COUNTED_MAX = 10_000
START_ONE = "start one: penstock worker MODULE:APP"


def worst(findings: Iterable[Finding]) -> Level:
    levels = {finding.level for finding in findings}
    return "error" if "error" in levels else "warning" if "warning" in levels else "ok"


def check_store(store: Store, clock: Clock, deep: bool = False, declared: Iterable[str] = ()) -> list[Finding]:
    """The engine's findings; then, of a sound store of this version, what its content tells.

    `declared` are job types that are known from elsewhere, such as from an App.
    """
    found = store.check_store(CheckStore(deep)).wait()
    try:
        if worst(found) != "error" and not store.migration_status().pending:
            found += _content(store, clock, declared)
    except StoreError as error:
        found.append(Finding.from_error("store", error))
    return found


def _content(store: Store, clock: Clock, declared: Iterable[str]) -> Iterator[Finding]:
    store.read_clock().wait()  # The first answer includes opening; the second is the store's own.
    before = clock.monotonic()
    now = store.read_clock().wait()
    yield check_ping(clock.monotonic() - before)
    workers = store.list_workers().wait()
    newest = store.list_jobs(ListJobs(limit=1)).wait()
    moments = [moment for worker in workers for moment in (worker.started_at, worker.heartbeat_at)]
    moments += [int(job.created_at.timestamp() * MICROSECONDS) for job in newest]
    yield check_clock(now, clock.now_us(), max(moments, default=now))
    yield from check_workers(workers)
    lanes = store.count_waiting(CountWaiting(COUNTED_MAX)).wait()
    yield from check_waiting(lanes, workers, now, [*store.read_types().wait(), *declared])
    yield check_dead(store.list_dead(ListDead(filter=DeadFilter(), limit=1)).wait().total)


# Time


def check_ping(seconds: float) -> Finding:
    said = f"answers in {seconds * 1000:.1f} ms"
    if seconds <= PING_SECONDS_MAX:
        return Finding("answer", "ok", said)
    return Finding("answer", "warning", f"the store {said}: slow", "look for load on this machine and on its disk")


def check_clock(store_us: int, machine_us: int, newest_us: int) -> Finding:
    """The store's clock against this machine's and against what was stored before."""
    skew = (store_us - machine_us) / MICROSECONDS
    ahead = (newest_us - store_us) / MICROSECONDS
    fix = "let both machines synchronise their clocks (NTP), such as with: timedatectl set-ntp true"
    if abs(skew) > SKEW_SECONDS_MAX:
        side = "ahead of" if skew > 0 else "behind"
        said = f"the store's clock is {_about(abs(skew))} {side} this machine's"
        return Finding("clock", "warning", f"{said}: delays and logs do not agree", fix)
    if ahead > SKEW_SECONDS_MAX:
        return Finding(
            "clock", "warning", f"something was stored {_about(ahead)} in the future: the clock has gone back, and "
            "due times and heartbeats from before wait until it has caught up",
            "let the machine synchronise its clock (NTP), and restart the workers",
        )  # fmt: skip
    return Finding("clock", "ok", "the store's and this machine's agree")


# Workers


def check_workers(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    live = [worker for worker in workers if worker.live]
    if live:
        slots, jobs = sum(worker.slots for worker in live), sum(worker.jobs for worker in live)
        yield Finding("workers", "ok", f"{_count(len(live), 'live worker')}, {_count(slots, 'slot')}, {jobs:,} in use")
    else:
        yield Finding("workers", "warning", "no worker is alive: what is enqueued waits", START_ONE)
    stale = [worker for worker in workers if worker.stale]
    if stale:
        yield Finding(
            "workers", "warning", f"silent for longer than three heartbeats: {_names(stale)}",
            "another worker takes their jobs back within seconds" if live else f"to get their jobs back, {START_ONE}",
        )  # fmt: skip
    lost = [worker for worker in workers if worker.status == "lost" and worker.silent < LOST_SECONDS]
    if lost:
        yield Finding(
            "workers", "warning", f"lost in the last hour: {_names(lost)}",
            "their jobs were taken back; look for the reason in their logs: killed, out of memory, machine gone?",
        )  # fmt: skip


def _names(workers: Sequence[WorkerInfo]) -> str:
    named = [f"{one.id} on {one.host} ({_about(one.silent)} ago)" for one in workers[:NAMED_MAX]]
    more = len(workers) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


# Jobs that wait


def check_waiting(
    lanes: Sequence[Waiting], workers: Sequence[WorkerInfo], now: int, known: Iterable[str]
) -> Iterator[Finding]:
    """Whether every job that waits has a worker that would take it. A draining one takes nothing more."""
    takers = [worker for worker in workers if worker.live and worker.status == "active"]
    if not lanes:
        yield Finding("waiting jobs", "ok", "none")
        return
    oldest = _about(max(0.0, (now - min(lane.oldest_due_at for lane in lanes)) / MICROSECONDS))
    said = f"{_jobs(lanes)}, the oldest for {oldest}"
    if not takers:
        yield Finding("waiting jobs", "warning", f"{said}; no worker takes any", START_ONE)
        return
    names = sorted({*known, *(name for worker in takers for name in worker.types or ())})
    stuck = [lane for lane in lanes if all(why_not(worker, lane) for worker in takers)]
    for lane in stuck[:LANES_MAX]:
        yield explain_lane(lane, takers, names)
    if len(stuck) > LANES_MAX:
        more = f"{len(stuck) - LANES_MAX:,} more kinds of jobs that no live worker takes"
        yield Finding("waiting jobs", "warning", more, "start with those above")
    if not stuck:
        yield Finding("waiting jobs", "ok", f"{said}; each has a live worker that takes it")


def explain_lane(lane: Waiting, takers: Sequence[WorkerInfo], known: Sequence[str]) -> Finding:
    """Why none of these workers takes the lane's jobs, by the one that comes closest, and what would."""
    closest = min(takers, key=lambda worker: _distance(why_not(worker, lane)))
    obstacles = why_not(closest, lane)
    which = f"{_jobs([lane])} of type {lane.type!r} in queue {lane.queue!r} that no live worker takes"
    if "type" in obstacles:
        reason, fix = _unknown_type(lane.type, known)
    else:
        parts = [_obstacle(lane, closest, obstacle) for obstacle in obstacles]
        reason = " and ".join(said for said, _ in parts)
        fix = f"start a worker with {' '.join(flag for _, flag in parts)}"
    return Finding("waiting jobs", "warning", f"{which}: {reason}", fix)


def _jobs(lanes: Sequence[Waiting]) -> str:
    total = sum(lane.jobs for lane in lanes)
    return f"{total:,} or more jobs" if any(lane.jobs >= COUNTED_MAX for lane in lanes) else _count(total, "job")


def _distance(obstacles: tuple[Obstacle, ...]) -> tuple[bool, int]:
    return "type" in obstacles, len(obstacles)


def _unknown_type(type: str, known: Sequence[str]) -> tuple[str, str]:
    reason = f"none takes the type {type!r}"
    if type in known:
        return reason, "start a worker of the app that declares it, without --types or with this type among them"
    near = get_close_matches(type, known, 1)
    return (
        f"{reason}, which no worker has ever declared" + (f"; the nearest is {near[0]!r}" if near else ""),
        f"declare it (name= or aliases=) and start a worker, or cancel them: penstock jobs list --type {type}",
    )


def _obstacle(lane: Waiting, closest: WorkerInfo, obstacle: Obstacle) -> tuple[str, str]:
    """What is missing, and the flags that would bring it."""
    if obstacle == "queue":
        return f"none serves the queue {lane.queue!r}", f"--queues {lane.queue}"
    if obstacle == "capability":
        return f"none has the capability {lane.capability!r}", f"--capabilities {lane.capability}"
    needs = {"cpu": f"{lane.resources.cpu:g}", "memory": format_size(lane.resources.memory),
             "gpu": f"{lane.resources.gpu:g}"}  # fmt: skip
    missing = missing_resources(closest.resources, lane.resources)
    flags = " ".join(f"--{name} {needs[name]}" for name in needs if getattr(lane.resources, name))
    return f"none has {', '.join(f'{name} {needs[name]}' for name in missing)}", flags


def check_dead(dead: int) -> Finding:
    return Finding("dead letters", "ok", "none" if dead == 0 else f"{dead:,}; look at them with: penstock dead list")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _about(seconds: float) -> str:
    return format_duration(round(seconds)) if seconds >= 1 else "less than 1s"
