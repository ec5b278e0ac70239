"""What a test enqueued, kept as it was at the enqueue: retries, retention and time do not change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.options import decode_policy
from penstock.domain.payload import decode_json
from penstock.store.contract import NewJob


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """A job as it was enqueued. `options` holds everything that using() can say, by the same names and in seconds."""

    id: str
    type: str
    payload: Any
    options: dict[str, Any]
    parent: str | None
    text: str
    """The payload as it is stored."""

    @property
    def due_at(self) -> datetime:
        moment: datetime = self.options["at"]
        return moment


def record(job: NewJob, now_us: int) -> EnqueuedJob:
    """The record of a job that was stored at this moment."""
    spec, policy = job.spec, decode_policy(job.spec.policy)
    due_us = spec.at if spec.at is not None else now_us + round(spec.delay * MICROSECONDS)
    options = {
        "queue": spec.queue,
        "priority": spec.priority,
        "capability": spec.capability,
        "resources": spec.resources,
        **msgspec.structs.asdict(policy),
        "tenant": spec.tenant,
        "tags": spec.tags,
        "delay": max(0, due_us - now_us) / MICROSECONDS,
        "at": from_us(max(now_us, due_us)),
        "unique": spec.unique,
        "id": job.id,
    }
    return EnqueuedJob(job.id, spec.type, decode_json(job.payload), options, spec.parent, job.payload)
