"""Storing new jobs: in runs that share everything but id and payload, each run one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.store.params import Enqueued, NewJob
from penstock.store.sqlite.tx import Tx, as_json

CHUNK_ROWS_MAX = 5000
CHUNK_CHARS_MAX = 16 * 1024 * 1024


def enqueue_jobs(tx: Tx, jobs: Sequence[NewJob], retried_from: str | None = None) -> list[Enqueued]:
    """Store the jobs; those whose id is stored already, or whose unique key is held, are answered with created False."""
    answers = [_held(tx, job) if job.unique else None for job in jobs]
    new = [job for job, held in zip(jobs, answers, strict=True) if held is None] if any(answers) else jobs
    last_job = tx.value("last_job")
    stored = sum(
        _insert_run(tx, key, list(run), retried_from) for key, run in groupby(new, key=lambda j: _run_key(tx, j))
    )
    duplicates = _duplicates(tx, new, last_job) if stored < len(new) else frozenset()
    if stored:
        _point_to_new(tx, new, last_job)
    return [held or Enqueued(job.id, job.id not in duplicates) for job, held in zip(jobs, answers, strict=True)]


def _held(tx: Tx, job: NewJob) -> Enqueued | None:
    """Who holds the job's unique key; if nobody, it is this job from now on."""
    assert job.unique is not None
    holder = tx.value("read_unique", key=job.unique.key, now=tx.now)
    if holder is not None and holder != job.id:
        return Enqueued(holder, False)
    if holder is None:
        per = job.unique.per
        expires_at = None if per is None else tx.now + int(per * MICROSECONDS)
        tx.change("hold_unique", key=job.unique.key, id=job.id, expires_at=expires_at)
    return None


def _run_key(tx: Tx, job: NewJob) -> tuple[Any, ...]:
    lane = tx.lanes.find(tx, job.type, job.queue, job.capability, job.resources)
    due_at = job.at if job.at is not None else tx.now + int(job.delay * MICROSECONDS)
    key = job.unique.key if job.unique else None
    return lane, job.priority, due_at, job.policy, job.tenant, job.tags, job.parent, key


def _insert_run(tx: Tx, key: tuple[Any, ...], run: list[NewJob], retried_from: str | None) -> int:
    return sum(_insert_chunk(tx, key, chunk, retried_from) for chunk in _chunks(run))


def _chunks(run: list[NewJob]) -> Iterator[list[NewJob]]:
    """Parts that make one statement each, bounded in rows and bytes."""
    chunk: list[NewJob] = []
    size = 0
    for job in run:
        if chunk and (len(chunk) >= CHUNK_ROWS_MAX or size + len(job.payload) > CHUNK_CHARS_MAX):
            yield chunk
            chunk, size = [], 0
        chunk.append(job)
        size += len(job.payload)
    yield chunk


def _insert_chunk(tx: Tx, key: tuple[Any, ...], chunk: list[NewJob], retried_from: str | None) -> int:
    lane, priority, due_at, policy, tenant, tags, parent, unique_key = key
    return tx.change(
        "insert_jobs",
        rows=as_json([(job.id, job.payload) for job in chunk]),
        lane=lane,
        priority=priority,
        due_at=due_at,
        now=tx.now,
        policy=policy,
        tenant=as_json(tenant) if tenant else None,
        tags=as_json(tags) if tags else None,
        parent=parent,
        retried_from=retried_from,
        unique_key=unique_key,
    )


def _duplicates(tx: Tx, jobs: Sequence[NewJob], last_job: int) -> frozenset[str]:
    """Which of the ids were stored before this call."""
    ids = [job.id for job in jobs]
    return frozenset(tx.array("stored_before", ids=as_json(ids), last_job=last_job))


def _point_to_new(tx: Tx, jobs: Sequence[NewJob], last_job: int) -> None:
    if tx.change("ready_new_jobs", last_job=last_job, now=tx.now):
        tx.wake = True
    if any(job.delay or job.at is not None for job in jobs):
        tx.change("schedule_new_jobs", last_job=last_job, now=tx.now)
        tx.wake = True
    for job in jobs:
        if job.ttl is not None:
            tx.change("insert_ttl", id=job.id, ttl=int(job.ttl * MICROSECONDS))
