"""What is wrong with a store and its workers, through the contract alone; each with its fix. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.domain.clock import MICROSECONDS, Clock
from penstock.domain.errors import StoreError
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.domain.flow.pauses import Pauses
from penstock.observe.alerts.looked import LOOK, unseen
from penstock.observe.health import PING_SECONDS_MAX, START_ONE, unheard
from penstock.observe.stuck import stuck_lanes, takers_among, unpaused_lanes, why_stuck
from penstock.observe.words import about, counted, counted_jobs, paused_for
from penstock.store.contract import (
    AlertPage,
    CheckStore,
    CountWaiting,
    DeadFilter,
    Finding,
    Level,
    ListDead,
    ListJobs,
    ReadSchedules,
    Sample,
    ScheduleRow,
    Store,
    Waiting,
    WorkerInfo,
    plan_problem,
)

SKEW_SECONDS_MAX = 2.0
LOST_SECONDS = 3600.0
NAMED_MAX = 5
LANES_MAX = 20
OVERDUE_SECONDS = 60.0
"""When a leader has died, the next one fires what is due long before."""
COUNTED_MAX = 10_000


def worst(findings: Iterable[Finding]) -> Level:
    levels = {finding.level for finding in findings}
    return "error" if "error" in levels else "warning" if "warning" in levels else "ok"


def check_store(store: Store, clock: Clock, deep: bool = False, declared: Iterable[str] = ()) -> list[Finding]:
    """The engine's findings; then, of a sound store of this version, what its content tells.

    `declared` are job types that are known from elsewhere, such as from an App.
    """
    found: list[Finding] = []
    try:
        found += store.check_store(CheckStore(deep)).wait()
        if worst(found) != "error" and not store.migration_status().pending:
            found.extend(_content(store, clock, declared))
    except StoreError as error:
        found.append(Finding.from_error("store", error))
    except Exception as error:  # Whatever is stored, the findings are told.
        let_interrupt_out(error)
        found.append(Finding(
            "store", "error", f"something that is stored cannot be read ({type(error).__name__}: {error}), and the "
            "rest was not looked at",
            "somebody has changed the tables by hand, or this is a defect: keep a copy and report it",
        ))  # fmt: skip
    return found


def _content(store: Store, clock: Clock, declared: Iterable[str]) -> Iterator[Finding]:
    store.read_clock().wait()  # The first answer includes opening; the second is the store's own.
    before, machine = clock.monotonic(), clock.now_us()
    now = store.read_clock().wait()
    took = clock.monotonic() - before
    yield check_ping(took)
    workers = store.list_workers().wait()
    newest = store.list_jobs(ListJobs(limit=1)).wait()
    moments = [moment for worker in workers for moment in (worker.started_at, worker.heartbeat_at)]
    moments += [int(job.created_at.timestamp() * MICROSECONDS) for job in newest]
    yield check_clock(now, machine + int(took / 2 * MICROSECONDS), max(moments, default=now))
    yield from check_workers(workers)
    pauses = Pauses(store.list_pauses().wait())
    lanes = store.count_waiting(CountWaiting(COUNTED_MAX)).wait()
    yield from check_paused(lanes, pauses, now)
    known = [*store.read_types().wait(), *declared]
    yield from check_waiting(unpaused_lanes(lanes, pauses), workers, now, known)
    stored = store.read_schedules(ReadSchedules()).wait()
    yield from check_schedules(stored.schedules, stored.now, any(worker.live for worker in workers))
    yield from check_alerts(store.read_alerts().wait(), store.read_sample().wait(), workers)
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
        said = f"the store's clock is {about(abs(skew))} {side} this machine's"
        return Finding("clock", "warning", f"{said}: delays and logs do not agree", fix)
    if ahead > SKEW_SECONDS_MAX:
        return Finding(
            "clock", "warning", f"something was stored {about(ahead)} in the future: the clock has gone back, and "
            "due times and heartbeats from before wait until it has caught up",
            "let the machine synchronise its clock (NTP), and restart the workers",
        )  # fmt: skip
    return Finding("clock", "ok", "the store's and this machine's agree")


# Workers


def check_workers(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    live = [worker for worker in workers if worker.live and not worker.coordinates]
    if live:
        slots, jobs = sum(worker.slots for worker in live), sum(worker.jobs for worker in live)
        yield Finding(
            "workers", "ok", f"{counted(len(live), 'live worker')}, {counted(slots, 'slot')}, {jobs:,} in use"
        )
    else:
        yield Finding("workers", "warning", "no worker is alive: what is enqueued waits", START_ONE)
    led = any(worker.live for worker in workers)  # A coordinator takes jobs back too.
    stale = [worker for worker in workers if worker.stale]
    if stale:
        yield Finding(
            "workers", "warning", f"silent for longer than three heartbeats: {_names(stale)}",
            "another worker takes their jobs back within seconds" if led else f"to get their jobs back, {START_ONE}",
        )  # fmt: skip
    yield from _check_probed(workers)
    lost = [worker for worker in workers if worker.status == "lost" and worker.silent < LOST_SECONDS]
    if lost:
        yield Finding(
            "workers", "warning", f"lost in the last hour: {_names(lost)}",
            "their jobs were taken back; look for the reason in their logs: killed, out of memory, machine gone?",
        )  # fmt: skip


def _check_probed(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Those that live and do not answer, or cannot be asked."""
    failing = [worker for worker in workers if worker.failing and worker.status == "inactive"]
    if failing:
        yield Finding(
            "workers", "warning", f"not answering probes, so they get no jobs: {_places(failing)}",
            "look at their logs for a handler that blocks the event loop, or ask one yourself: its address, with curl",
        )  # fmt: skip
    unreached = [worker for worker in workers if worker.unreached and worker.live]
    if unreached:
        yield Finding(
            "workers", "warning", f"the leading worker has never reached: {_places(unreached)}",
            "they get jobs, but one that hangs is not noticed: let workers reach each other there (--health HOST:PORT)",
        )  # fmt: skip


def _places(workers: Sequence[WorkerInfo]) -> str:
    return _listed([f"{one.id} on {one.host} at {one.health}" for one in workers])


def _names(workers: Sequence[WorkerInfo]) -> str:
    return _listed([f"{one.id} on {one.host} ({about(one.silent)} ago)" for one in workers])


# Jobs that wait


def check_paused(lanes: Sequence[Waiting], pauses: Pauses, now: int) -> Iterator[Finding]:
    """What people have paused: no fault, but what explains a job that does not run."""
    for pause in list(pauses)[:LANES_MAX]:
        held = [lane for lane in lanes if pause in pauses.holding(lane)]
        yield Finding("paused", "ok", f"{paused_for(pause, now)}; {counted_jobs(held, COUNTED_MAX)} waiting")


def check_waiting(
    lanes: Sequence[Waiting], workers: Sequence[WorkerInfo], now: int, known: Iterable[str]
) -> Iterator[Finding]:
    """Whether every job that waits has a worker that would take it. A draining one takes nothing more."""
    takers = takers_among(workers)
    if not lanes:
        yield Finding("waiting jobs", "ok", "none")
        return
    oldest = about(max(0.0, (now - min(lane.oldest_due_at for lane in lanes)) / MICROSECONDS))
    said = f"{counted_jobs(lanes, COUNTED_MAX)}, the oldest for {oldest}"
    if not takers:
        yield Finding("waiting jobs", "warning", f"{said}; no worker takes any", START_ONE)
        return
    names = sorted({*known, *(name for worker in takers for name in worker.types or ())})
    stuck = stuck_lanes(lanes, takers)
    for lane in stuck[:LANES_MAX]:
        yield explain_lane(lane, takers, names)
    if len(stuck) > LANES_MAX:
        more = f"{len(stuck) - LANES_MAX:,} more kinds of jobs that no live worker takes"
        yield Finding("waiting jobs", "warning", more, "start with those above")
    if not stuck:
        yield Finding("waiting jobs", "ok", f"{said}; each has a live worker that takes it")


def explain_lane(lane: Waiting, takers: Sequence[WorkerInfo], known: Sequence[str]) -> Finding:
    """Why none of these workers takes the lane's jobs, and what would."""
    which = (
        f"{counted_jobs([lane], COUNTED_MAX)} of type {lane.type!r} in queue {lane.queue!r} that no live worker takes"
    )
    reason, fix = why_stuck(lane, takers, known)
    return Finding("waiting jobs", "warning", f"{which}: {reason}", fix)


# Schedules


def check_schedules(rows: Sequence[ScheduleRow], now: int, live: bool) -> Iterator[Finding]:
    """Whether every schedule fires when its time has come. `live` says whether there is a worker that could."""
    active = [row for row in rows if row.status == "active" and row.next_at is not None]
    broken = {row.name: problem for row in active if (problem := plan_problem(row)) is not None}
    late = {row.name: (now - (row.next_at or now)) / MICROSECONDS for row in active if row.name not in broken}
    overdue = [f"{name} (for {about(seconds)})" for name, seconds in late.items() if seconds > OVERDUE_SECONDS]
    if overdue:
        fix = "look for schedule.failed in the log of the worker that leads" if live else START_ONE
        yield Finding("schedules", "warning", f"overdue, and not fired: {_listed(overdue)}", fix)
    if broken:
        told = _listed([f"{name} ({problem})" for name, problem in broken.items()])
        yield Finding(
            "schedules", "warning", f"cannot be fired: {told}", "look at each with: penstock schedules show NAME"
        )
    if not overdue and not broken:
        yield Finding("schedules", "ok", f"{len(active):,} active" if rows else "none")


def _listed(words: Sequence[str]) -> str:
    more = len(words) - NAMED_MAX
    return ", ".join(words[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


def check_alerts(page: AlertPage, sample: Sample | None, workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Whether people hear of what is wrong, and whether anybody looks for it."""
    for name, (number, why) in unheard(page.alerts).items():
        said = f"{name} does not hear of {counted(number, 'alert')}: {why}"
        yield Finding("alerts", "warning", said, "try it with: penstock alerts test")
    firing = [f"{row.rule} ({row.scope})" for row in page.alerts if row.state == "firing"]
    alone = unseen(sample, page.now)
    if firing:
        yield Finding("alerts", "ok", f"firing: {_listed(firing)}; penstock alerts list")
    elif alone is None:
        yield Finding("alerts", "ok", "none fires")
    if alone is not None:
        yield _explain_unseen(alone, sample, any(worker.live for worker in workers))


def _explain_unseen(said: str, sample: Sample | None, live: bool) -> Finding:
    """Who has just started has not looked yet."""
    if not live:
        return Finding("alerts", "warning", f"{said} for what is wrong", LOOK)
    if sample is None:
        return Finding("alerts", "ok", f"{said} for what is wrong: whoever leads does so within seconds")
    return Finding("alerts", "warning", f"{said} for what is wrong", "look for leader.elected in the logs of workers")


def check_dead(dead: int) -> Finding:
    return Finding("dead letters", "ok", "none" if dead == 0 else f"{dead:,}; look at them with: penstock dead list")
