"""An alert for tests."""

from __future__ import annotations

from typing import Any

from penstock.outbound.message import AlertMessage


def an_alert(**changes: Any) -> AlertMessage:
    given: dict[str, Any] = {
        "rule": "no_active_workers", "scope": "all", "severity": "critical", "state": "firing",
        "title": "No worker is active", "message": "12 jobs wait", "since_us": 1_700_000_000_000_000,
        "at_us": 1_700_000_060_000_000, "key": "no_active_workers:all:17", "tags": {"queue": "default"}, "value": 12.0,
    }  # fmt: skip
    return AlertMessage(**{**given, **changes})
