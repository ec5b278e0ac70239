"""Workflows in PostgreSQL: carries out what store/workflows.py asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.domain.errors import UnknownJob
from penstock.store import params as p, workflows
from penstock.store.postgres.enqueue import enqueue_steps
from penstock.store.postgres.steps import Steps, run
from penstock.store.workflows import Ask, Put, Stop

T = TypeVar("T")
Cancel = Callable[[p.CancelJob], Steps[p.Cancelled]]


def carry_out(asking: workflows.Steps[T], cancel: Cancel | None = None, own: bool = True) -> Steps[T]:
    """`cancel` is how a single job is cancelled, where that may be asked for; `own` as in enqueue_steps."""
    dead: list[str] = []
    answer = yield from _drive(asking, cancel, own, dead)
    while dead:
        ended, dead = dead, []
        yield from _drive(workflows.note_dead(ended), cancel, own, dead)
    return answer


def _drive(asking: workflows.Steps[T], cancel: Cancel | None, own: bool, dead: list[str]) -> Steps[T]:
    """Those that end as they are enqueued are added to `dead`."""
    try:
        asked = next(asking)
        while True:
            rows = yield from _do(asked, cancel, own)
            if isinstance(asked, Put):
                dead.extend(job.id for job in rows if job.dead)
            asked = asking.send(rows)
    except StopIteration as end:
        answer: T = end.value
        return answer


def _do(asked: Ask | Put | Stop, cancel: Cancel | None, own: bool) -> Steps[list[Any]]:
    if isinstance(asked, Ask):
        return (yield from run(asked.name, **asked.parameters))
    if isinstance(asked, Put):
        return list((yield from enqueue_steps(asked.jobs, own=own, strict=asked.strict)))
    assert cancel is not None
    try:
        return [(yield from cancel(asked.cancel))]
    except UnknownJob:
        return [None]
