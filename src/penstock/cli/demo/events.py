"""What has happened to the jobs of a scene since the last look, in words."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.output.tables import clean, one_line
from penstock.domain.job import Job, State


class Events:
    """Compares the jobs with how they were before; one line for each that has changed, and for each failed attempt."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[State, int]] = {}
        self._failures: dict[str, int] = {}

    def news(self, jobs: Sequence[Job]) -> list[str]:
        lines = []
        for job in jobs:
            failures = _failures(job)
            if failures > self._failures.get(job.id, 0):  # However short the look at it, or at what came after it.
                lines.append(_failed(job))
            now = (job.state, job.attempt)
            if now != self._before.get(job.id) and (line := _line(job)) is not None:
                lines.append(line)
            self._before[job.id], self._failures[job.id] = now, failures
        return lines


def about(job: Job) -> str:
    """What a job is about: the first thing in its payload."""
    values = list(job.payload.values()) if isinstance(job.payload, dict) else [job.payload]
    return clean(one_line(str(values[0]))) or "(empty)" if values else ""


def word(job: Job) -> str:
    """The last thing that is known of it: its result or its last error."""
    if job.state is State.COMPLETED:
        return clean(one_line(str(job.result)))
    return clean(one_line(job.error.message)) if job.error else ""


def _what(job: Job) -> str:
    return f"{job.type:<14} {about(job):<14}"


def _failures(job: Job) -> int:
    """How many of its attempts have failed with another to come."""
    return job.attempt if job.state in (State.PENDING, State.SCHEDULED) else job.attempt - 1


def _failed(job: Job) -> str:
    return f"{_what(job)}  failed, will be tried again: {clean(one_line(job.error.message)) if job.error else ''}"


def _line(job: Job) -> str | None:
    tries = f" at attempt {job.attempt}" if job.attempt > 1 else ""
    match job.state:
        case State.COMPLETED:
            return f"{_what(job)}  completed{tries}: {word(job)}"
        case State.DEAD:
            return f"{_what(job)}  dead after {job.attempt} of {job.max_attempts}: {word(job)}"
        case State.SCHEDULED if not job.attempt:
            return f"{_what(job)}  scheduled"
        case State.RUNNING:
            return f"{_what(job)}  running{tries}"
        case _:
            return None
