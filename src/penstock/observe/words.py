"""Amounts as people say them, for whatever is told about a store."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.duration import format_duration
from penstock.store.params import Waiting


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def counted_jobs(lanes: Sequence[Waiting], limit: int) -> str:
    """How many jobs wait in these lanes, where counting a lane stopped at the limit."""
    total = sum(lane.jobs for lane in lanes)
    return f"{total:,} or more jobs" if any(lane.jobs >= limit for lane in lanes) else counted(total, "job")


def about(seconds: float) -> str:
    return format_duration(round(seconds)) if seconds >= 1 else "less than 1s"
