"""What has happened since the last look, as the store tells it."""

from __future__ import annotations

from penstock.cli.output import clean, one_line
from penstock.domain.job import Job, State
from penstock.store.contract import Store
from penstock.store.params import ListJobs

JOBS_MAX = 100


class Events:
    """Compares the jobs with how they were before; one line for each that has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before: dict[str, tuple[State, int]] = {}

    async def news(self) -> list[str]:
        jobs = await self._store.list_jobs(ListJobs(limit=JOBS_MAX))
        lines = []
        for job in reversed(jobs):
            now = (job.state, job.attempt)
            before = self._before.get(job.id)
            if now != before and (line := _line(job, before)) is not None:
                lines.append(line)
            self._before[job.id] = now
        return lines


def _line(job: Job, before: tuple[State, int] | None) -> str | None:
    what = f"{job.type:<14} {job.id[9:18]}"
    said = clean(one_line(job.error.message if job.error else str(job.result)))
    match job.state:
        case State.COMPLETED:
            tries = f" at attempt {job.attempt}" if job.attempt > 1 else ""
            return f"{what}  completed{tries}: {said}"
        case State.DEAD if job.error is not None:
            return f"{what}  dead after {job.attempt} of {job.max_attempts}: {said}"
        case State.SCHEDULED if job.attempt and job.error is not None:
            return f"{what}  failed, will be tried again: {said}"
        case State.RUNNING if before is None or before[0] is not State.RUNNING:
            return f"{what}  running"
        case _:
            return None
