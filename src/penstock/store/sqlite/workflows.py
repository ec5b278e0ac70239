"""Workflows in SQLite: carries out what store/workflows.py asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import apsw

from penstock.domain.errors import UnknownJob
from penstock.store import params as p
from penstock.store.sqlite.enqueue import enqueue_jobs
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, fetch
from penstock.store.workflows import Ask, Put, Steps, Stop, note_dead

T = TypeVar("T")
Cancel = Callable[[Tx, p.CancelJob], p.Cancelled]


def carry_out(tx: Tx, steps: Steps[T], cancel: Cancel | None = None) -> T:
    """In a write transaction. `cancel` is how a single job is cancelled, where that may be asked for."""
    dead: list[str] = []

    def do(asked: Ask | Put | Stop) -> list[Any]:
        if isinstance(asked, Ask):
            return tx.run(asked.name, **asked.parameters, now=tx.now)
        if isinstance(asked, Put):
            stored = enqueue_jobs(tx, asked.jobs, strict=asked.strict)
            dead.extend(job.id for job in stored if job.dead)
            return list(stored)
        assert cancel is not None
        try:
            return [cancel(tx, asked.cancel)]
        except UnknownJob:
            return [None]

    answer = _drive(steps, do)
    while dead:
        ended, dead = dead, []
        _drive(note_dead(ended), do)
    return answer


def look(db: apsw.Connection, now: int, steps: Steps[T]) -> T:
    """The same for what only reads."""

    def do(asked: Ask | Put | Stop) -> list[Any]:
        assert isinstance(asked, Ask)
        return fetch(db, sql(asked.name), {**asked.parameters, "now": now})

    return _drive(steps, do)


def _drive(steps: Steps[T], do: Callable[[Ask | Put | Stop], list[Any]]) -> T:
    try:
        asked = next(steps)
        while True:
            asked = steps.send(do(asked))
    except StopIteration as end:
        answer: T = end.value
        return answer
