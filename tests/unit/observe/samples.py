"""A worker and a lane of waiting jobs, as the store tells them."""

from __future__ import annotations

from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.domain.options import NO_RESOURCES
from penstock.store.contract import Waiting, WorkerInfo
from tests.contract.clock import START_US


def worker(**fields: Any) -> WorkerInfo:
    known = {
        "session": 1, "id": "w", "host": "h", "pid": 1, "version": "1", "status": "active", "slots": 10,
        "types": ("mail",), "queues": None, "capabilities": ("general",), "resources": None, "started_at": 0,
        "heartbeat_at": 0, "silent": 1.0, "stale_after": 30.0, "jobs": 2,
    }  # fmt: skip
    return WorkerInfo(**{**known, **fields})


def lane(waited: float = 90.0, **fields: Any) -> Waiting:
    """Jobs of which the oldest has waited for so many seconds at START_US."""
    known = {"type": "mail", "queue": "default", "capability": "general", "resources": NO_RESOURCES, "jobs": 3,
             "oldest_due_at": START_US - int(waited * MICROSECONDS)}  # fmt: skip
    return Waiting(**{**known, **fields})
