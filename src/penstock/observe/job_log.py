"""What the log says of jobs, on the logger of their type, `penstock.job.TYPE`: of attempts as their worker knows them,
and of what others did to jobs, be it a leader, a person or the store. See docs/logs.md.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from logging import DEBUG, ERROR, INFO, WARNING
from typing import Any, NamedTuple

from penstock.domain.duration import format_duration
from penstock.domain.job import Event
from penstock.observe.events import Ended, EndedBatch, Observer
from penstock.observe.logs import fields, job_fields, tenant_fields
from penstock.store.contract import Claim, Happened, Unfinished

MESSAGE_CHARS_LOGGED = 500
LOST = "lost: the job was taken from this worker before its outcome was stored, which is dropped"


class Line(NamedTuple):
    level: int
    name: str
    word: str


LINES = {
    Event.ENQUEUE: Line(DEBUG, "job.enqueued", "enqueued"),
    Event.COMPLETE: Line(INFO, "job.completed", "completed"),
    Event.BACK_OFF: Line(ERROR, "job.failed", "failed"),
    Event.SNOOZE: Line(INFO, "job.snoozed", "snoozed"),
    Event.RELEASE: Line(INFO, "job.released", "released"),
    Event.GIVE_BACK: Line(WARNING, "job.returned", "returned"),
    Event.RECOVER: Line(WARNING, "job.recovered", "recovered"),
    Event.FAIL: Line(ERROR, "job.dead", "dead"),
    Event.CANCEL: Line(INFO, "job.cancelled", "cancelled"),
    Event.EXPIRE: Line(WARNING, "job.expired", "expired"),
    Event.RETRIED: Line(INFO, "job.retried", "retried"),
    Event.REMOVE: Line(DEBUG, "job.removed", "removed"),
}


def logger_of(type: str) -> logging.Logger:
    return logging.getLogger(f"penstock.job.{type}")


def log_attempt(logger: logging.Logger, level: int, event: str, worker_id: str, claim: Claim, message: str,
                **values: Any) -> None:  # fmt: skip
    """A record about an attempt. A payload or result that may be shown is part of what it says."""
    if logger.isEnabledFor(level):
        shown = values.get("payload") or values.get("result")
        text = f"{message} {shown}" if shown else message
        extra = fields(event, **job_fields(claim), worker_id=worker_id, **values)
        with suppress(Exception):  # A log that cannot be written must not stop what is done.
            logger.log(level, "%s attempt %d %s", claim.id, claim.attempt, text, extra=extra)


class JobLog(Observer):
    """Writes the lines, where the level of their logger allows."""

    def happened(self, jobs: Sequence[Happened]) -> None:
        for job in jobs:
            level, event, word = LINES[job.event]
            logger = logger_of(job.type)
            if logger.isEnabledFor(level):
                number = f" attempt {job.attempt}" if job.attempt else ""
                why = ": ".join(text for text in (word, job.error, job.reason) if text)
                extra = fields(
                    event, job_id=job.id, type=job.type, queue=job.queue, attempt=job.attempt, worker_id=job.worker,
                    decided_by=job.decided_by, reason=job.reason, tags=job.tags or None,
                    error=job.error and {"type": job.error, "message": job.reason or ""}, **tenant_fields(job.tenant),
                )  # fmt: skip
                with suppress(Exception):  # As in log_attempt(): the lines of the others come all the same.
                    logger.log(level, "%s%s %s", job.id, number, why, extra=extra)

    def ended(self, batch: EndedBatch) -> None:
        for one in batch.ended:
            lost = one.end.token in batch.lost
            level, event, _ = Line(WARNING, "job.lost", LOST) if lost else LINES[batch.event_of(one)]
            if one.seconds is None and event == "job.released":
                level = DEBUG  # It was only claimed ahead.
            logger = logger_of(one.claim.type)
            if logger.isEnabledFor(level):
                message, values = self._told(one, batch.event_of(one))
                message = f"{LOST}: {message}" if lost else message
                took = None if one.seconds is None else round(one.seconds * 1000, 1)
                log_attempt(logger, level, event, batch.worker_id, one.claim, message, duration_ms=took, **values)

    def _told(self, one: Ended, event: Event) -> tuple[str, dict[str, Any]]:
        """What is said of it, and what its record carries."""
        end, word = one.end, LINES[event].word
        if not isinstance(end, Unfinished):
            took = "" if one.seconds is None or event is Event.CANCEL else f" in {format_duration(one.seconds)}"
            return word + took, {"result": one.result}
        values: dict[str, Any] = {"reason": end.reason}
        if event in (Event.BACK_OFF, Event.SNOOZE):
            values["next_try_in"] = round(end.delay, 3)
        if event is Event.SNOOZE:
            values["snoozes"] = one.claim.snoozes + 1
            return end.reason or word, values
        if one.error is None or event is Event.CANCEL:
            return word, values
        values["error"] = {"type": one.error.type, "message": one.error.message}
        next_ = f"next try in {format_duration(end.delay)}" if event is Event.BACK_OFF else end.reason
        said = f"{word}: {one.error.type}: {one.error.message[:MESSAGE_CHARS_LOGGED]}"
        return said if next_ is None or next_ in said else f"{said} ({next_})", values
