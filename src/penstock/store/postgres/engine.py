"""What this engine does its own way, as operations that are written once for the SQL engines ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.domain.flow.gates import Limit
from penstock.domain.job import ErrorInfo
from penstock.domain.options import PRIORITY_MAX
from penstock.store import contract as p
from penstock.store.postgres.connection.statements import DEFAULT_SCHEMA, sql
from penstock.store.postgres.hot.enqueue import enqueue_steps
from penstock.store.postgres.hot.expiry import expire_all, expire_these
from penstock.store.postgres.hot.finish import end_attempts
from penstock.store.postgres.hot.gates import wake_steps
from penstock.store.postgres.hot.mend import free_parked, tell_removed
from penstock.store.postgres.pages import dead_matching
from penstock.store.sql.endings import Ending
from penstock.store.sql.engine import Found, Noting
from penstock.store.sql.happening import NO_WORKER, told_enqueued
from penstock.store.sql.rows import DeadJob, resource_text
from penstock.store.sql.steps import Steps, as_json, run, run_text, value

LOCK_WAIT_MS = 3000
"""Claims wait behind a pause that waits for one of them. One that takes longer than this has lost its client."""


class PostgresEngine(Noting):
    """`own` is False in a transaction of the caller's, which may last."""

    def __init__(self, random: Callable[[], float], beats: dict[int, int], own: bool = True) -> None:
        super().__init__([])
        self.random = random
        self.beats = beats
        self._own = own

    def hold_claims(self) -> Steps[None]:
        yield from run("limit_lock_wait", ms=str(LOCK_WAIT_MS))
        yield from run("lock_pauses")

    def hold_schedules(self, names: Sequence[str]) -> Steps[None]:
        yield from run("lock_schedules", names=sorted(names))

    def wake(self) -> Steps[None]:
        yield from run("notify")

    # Jobs

    def enqueue(
        self, jobs: Sequence[p.NewJob], retried_from: Mapping[str, str] | None = None, strict: bool = True,
        news: bool = True,
    ) -> Steps[list[p.Enqueued]]:  # fmt: skip
        stored = yield from enqueue_steps(jobs, retried_from, own=self._own, strict=strict)
        self.note(told_enqueued(jobs, stored, news))
        return stored

    def end_attempts(self, endings: Sequence[Ending]) -> Steps[p.Finished]:
        return end_attempts(endings, "default")

    def expire(self, ids: Sequence[str] | None = None) -> Steps[None]:
        """Of some, it waits for those who hold them, with nothing of others in hand."""
        self.note((yield from (expire_all() if ids is None else expire_these(ids))))

    def cancel_waiting(self, job_id: str, job: Found, reason: str) -> Steps[bool | None]:
        gone = yield from run("cancel_waiting_job", id=job_id, lane=job.lane, due_at=job.due_at, reason=reason)
        if not gone:
            return None
        if job.gates is not None:
            yield from run("leave_line", ids=[job_id])
            yield from wake_steps(job.gates)
        later: bool = gone[0][0]
        return later

    def fail_waiting(self, fail: p.FailUnroutable) -> Steps[list[str]]:
        rows = yield from run(
            "fail_unroutable",
            type=fail.type,
            queue=fail.queue,
            capability=fail.capability,
            resources=resource_text(fail.resources),
            limit=fail.limit,
            reason=fail.reason,
            error=as_json(ErrorInfo(NO_WORKER, fail.reason)),
        )
        tell_removed([job_id for job_id, failed in rows if not failed])
        failed = [job_id for job_id, failed in rows if failed]
        if failed:
            yield from run("leave_line", ids=failed)
        return failed

    def raise_waiting(self, ageing: int, limit: int) -> Steps[int]:
        found = yield from run("aged_jobs", ageing=ageing, top=PRIORITY_MAX, limit=limit)
        if not found:
            return 0
        for route in sorted({(*row[:4], row[7]) for row in found}):
            names = ("type", "queue", "capability", "resources", "priority")
            yield from run("insert_lane", **dict(zip(names, route, strict=True)))
        _, _, _, _, lanes, dues, ids, priorities = (list(column) for column in zip(*found, strict=True))
        return len((yield from run("raise_jobs", lanes=lanes, dues=dues, ids=ids, priorities=priorities)))

    def find_dead(self, filter: p.DeadFilter, limit: int) -> Steps[list[DeadJob]]:
        matching, bindings = dead_matching(filter)
        text = sql("find_dead", DEFAULT_SCHEMA).format(matching=matching)
        return [DeadJob._make(row) for row in (yield from run_text("find_dead", text, **bindings, limit=limit))]

    def remove(self, ids: Sequence[str]) -> Steps[int]:
        removed: int = yield from value("remove_jobs", ids=list(ids))
        return removed

    # Limits

    def fix_limits(self, limits: Sequence[Limit]) -> Steps[None]:
        yield from run(
            "fix_limits",
            origins=[limit.origin for limit in limits],
            numbers=[limit.most for limit in limits],
            periods=[limit.period for limit in limits],
        )

    def tend_gates(self, mend: bool) -> Steps[None]:
        if mend:
            yield from free_parked()
        yield from run("tend_gates")
        idle = [gate for (gate,) in (yield from run("lock_idle_gates"))]
        if idle:
            yield from run("forget_gates", gates=idle)

    # Workers

    def begin_sessions(self) -> Steps[None]:
        yield from run("catch_up")
        yield from run("move_tokens")

    def beat(self, session: int, moment: int) -> None:
        self.beats[session] = moment
