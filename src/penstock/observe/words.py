"""Amounts as people say them, for whatever is told about a store."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.flow.pauses import Pause
from penstock.store.contract import Waiting


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def counted_jobs(lanes: Sequence[Waiting], limit: int) -> str:
    """How many jobs wait in these lanes, where counting a lane stopped at the limit."""
    total = sum(lane.jobs for lane in lanes)
    return f"{total:,} or more jobs" if any(lane.jobs >= limit for lane in lanes) else counted(total, "job")


def about(seconds: float) -> str:
    return format_duration(round(seconds)) if seconds >= 1 else "less than 1s"


def paused_for(pause: Pause, now_us: int) -> str:
    """`queue 'mail' has been paused for 2h by ann: the provider is down`."""
    reason = f": {pause.reason}" if pause.reason else ""
    return f"{pause} has been paused for {about(max(0, now_us - pause.since) / MICROSECONDS)} by {pause.actor}{reason}"
