"""Storing new jobs: in runs that share everything but id and payload, each run one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.store.contract import Enqueued, Happened, JobSpec, NewJob, WholeKey
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.unroutable import end_new, marked, with_late
from penstock.store.sqlite.connection.tx import Interned, Tx, as_json
from penstock.store.sqlite.hot.expiry import catch_up
from penstock.store.sqlite.hot.gates import park_new
from penstock.store.sqlite.hot.lines import line_up
from penstock.store.sqlite.hot.unroutable import fail_new_after

STATEMENT_CHARS_MAX = 64 * 1024 * 1024
LAST_OF_ALL = 2**63 - 1

_happened = attrgetter("happened")


class Enqueue:
    """The enqueue of one caller. Those of many callers become one."""

    __slots__ = ("_jobs",)

    def __init__(self, jobs: Sequence[NewJob]) -> None:
        self._jobs = jobs

    def __call__(self, tx: Tx) -> list[Enqueued]:
        return booked(tx, enqueue_jobs(tx, self._jobs))

    def together(self, tx: Tx, operations: list[Enqueue]) -> list[list[Enqueued]]:
        answers = iter(booked(tx, enqueue_jobs(tx, [job for operation in operations for job in operation._jobs])))
        return [[next(answers) for _ in operation._jobs] for operation in operations]


def booked(tx: Tx, answers: list[Enqueued]) -> list[Enqueued]:
    """Some may have ended at once, or have ended others."""
    if any(map(_happened, answers)):
        tx.carry_out(book_happened(one for answer in answers for one in answer.happened))
    return answers


def enqueue_whole(tx: Tx, jobs: Sequence[NewJob], whole: WholeKey) -> list[Enqueued]:
    """Store the jobs, or none of them while the key is held."""
    if not jobs:
        return []
    mark = len(tx.happened)
    holder = _taken(tx, whole.key, jobs[0].id, whole.seconds)
    late = tx.happened[mark:]
    answers = enqueue_jobs(tx, jobs) if holder is None else [Enqueued(holder, False) for _ in jobs]
    return with_late(answers, late) if late else answers


def enqueue_jobs(
    tx: Tx, jobs: Sequence[NewJob], retried_from: str | None = None, strict: bool = True
) -> list[Enqueued]:
    """Store the jobs. One whose id is stored already, or whose unique key is held, is answered with created False.

    `strict` refuses a limit that differs from the one that is stored for its key.
    """
    runs = [(spec, list(run)) for spec, run in groupby(jobs, key=attrgetter("spec"))]
    mark = len(tx.happened)
    held = _held_keys(tx, jobs) if any(spec.unique for spec, _ in runs) else {}
    late = tx.happened[mark:]
    stored, newest = 0, LAST_OF_ALL
    for spec, run in runs:
        count = _insert_run(tx, spec, _rows(run, held), retried_from)
        if count:
            stored, newest = stored + count, tx.db.last_insert_rowid()
    last_job = newest - stored  # New rows get consecutive numbers.
    dead = _point_to_new(tx, runs, last_job, strict) if stored else None
    if not (held or late or dead) and stored == len(jobs):
        return [Enqueued(job.id, True) for job in jobs]
    seen = _stored_before(tx, [job for job in jobs if job.id not in held], last_job)
    answers = []
    for job in jobs:
        answers.append(held.get(job.id) or Enqueued(job.id, job.id not in seen))
        seen.add(job.id)
    return marked(answers, dead or {}, late)


def _rows(run: list[NewJob], held: dict[str, Enqueued]) -> list[tuple[Any, ...]]:
    """What is each job's own: id, payload, and its gates if any in the run has some."""
    kept = [job for job in run if job.id not in held]
    if not any(job.gates for job in kept):
        return [(job.id, job.payload) for job in kept]
    return [(job.id, job.payload, as_json(job.gates) if job.gates else None) for job in kept]


def _held_keys(tx: Tx, jobs: Sequence[NewJob]) -> dict[str, Enqueued]:
    """The jobs whose unique key is held by another, by their id."""
    held: dict[str, Enqueued] = {}
    taken: dict[str, str] = {}
    for job in jobs:
        key = job.spec.unique_key
        if key is None:
            continue
        holder = taken.get(key)
        if holder is None:
            holder = _taken(tx, key, job.id, job.spec.unique.per if job.spec.unique else None)
        taken[key] = holder or job.id
        if taken[key] != job.id:
            held[job.id] = Enqueued(taken[key], False)
    return held


def _taken(tx: Tx, key: str, job_id: str, seconds: float | None) -> str | None:
    """Which other job holds the key; if none, it is this one's from now on."""
    holder = _holder(tx, key)
    if holder is None:
        expires_at = None if seconds is None else tx.now + int(seconds * MICROSECONDS)
        tx.change("hold_unique", key=key, id=job_id, expires_at=expires_at)
    return None if holder == job_id else holder


def _holder(tx: Tx, key: str) -> str | None:
    """One that has waited for too long reads as expired: it ends here, and holds nothing any more."""
    found = tx.run("read_unique", key=key, now=tx.now)
    if any(late for _, late in found):
        catch_up(tx)
        found = tx.run("read_unique", key=key, now=tx.now)
    return found[0][0] if found else None


def _insert_run(tx: Tx, spec: JobSpec, rows: list[tuple[Any, ...]], retried_from: str | None) -> int:
    """Neighbours that share everything but id and payload. How many of them are new."""
    lane = tx.lanes.find(tx, spec)
    count = _insert_into(tx, lane, spec, rows, retried_from)
    if not count and tx.lanes.is_gone(tx, lane):
        count = _insert_into(tx, tx.lanes.find(tx, spec), spec, rows, retried_from)
    return count


def _insert_into(tx: Tx, lane: Interned, spec: JobSpec, rows: list[tuple[Any, ...]], retried_from: str | None) -> int:
    """One statement, or more where that would be too long. None is stored if the lane has not this stamp."""
    due_at = spec.at if spec.at is not None else tx.now + int(spec.delay * MICROSECONDS)
    org, workspace = (spec.tenant.org, spec.tenant.workspace) if spec.tenant else (None, None)
    tags = as_json(spec.tags) if spec.tags else None
    if len(rows) == 1:
        id_, payload, *gates = rows[0]
        return tx.change_by("insert_job", (
            id_, *lane, spec.priority, due_at, tx.now, payload, spec.policy, org, workspace, tags, spec.parent,
            retried_from, spec.unique_key, gates[0] if gates else None,
        ))  # fmt: skip
    return sum(
        tx.change("insert_jobs", rows=text, lane=lane[0], stamp=lane[1], priority=spec.priority, due_at=due_at,
                  now=tx.now, policy=spec.policy, org=org, workspace=workspace, tags=tags, parent=spec.parent,
                  retried_from=retried_from, unique_key=spec.unique_key)
        for text in _texts(rows)
    )  # fmt: skip


def _texts(rows: list[tuple[Any, ...]]) -> Iterator[str]:
    """The rows as JSON, in as few texts as the length of a statement's parameter allows."""
    text = as_json(rows)
    if len(text) <= STATEMENT_CHARS_MAX or len(rows) <= 1:
        yield text
    else:
        half = len(rows) // 2
        yield from _texts(rows[:half])
        yield from _texts(rows[half:])


def _stored_before(tx: Tx, jobs: Sequence[NewJob], last_job: int) -> set[str]:
    """Which of the ids were stored before this call."""
    ids = [job.id for job in jobs]
    return set(tx.array("stored_before", ids=as_json(ids), last_job=last_job))


def _point_to_new(
    tx: Tx, runs: list[tuple[JobSpec, list[NewJob]]], last_job: int, strict: bool
) -> dict[str, Happened] | None:
    """Answers what happened to those that ended at once, if any may have."""
    gated = [job for _, run in runs for job in run if job.gates]
    later = fails = False
    parked = park_new(tx, gated, last_job, strict) if gated else {}
    if parked:
        rows = as_json(list(parked.items()))
        tx.change("park_new_jobs", rows=rows, last_job=last_job, now=tx.now)
        if tx.change("ready_new_but", rows=rows, last_job=last_job, now=tx.now):
            tx.wake = True
    elif tx.change_by("ready_new_jobs", (last_job, tx.now)):
        tx.wake = True
    if gated:
        line_up(tx, gated, last_job)
    for spec, run in runs:
        later = later or spec.delay > 0 or spec.at is not None
        fails = fails or spec.no_worker == "fail"
        if spec.ttl is not None:
            for job in run:
                tx.change("insert_ttl", id=job.id, ttl=int(spec.ttl * MICROSECONDS), last_job=last_job)
    if later:
        tx.change("schedule_new_jobs", last_job=last_job, now=tx.now)
        tx.wake = True
    if not fails:
        return None
    return tx.carry_out(end_new([(spec, [job.id for job in run]) for spec, run in runs], fail_new_after(tx, last_job)))
