"""What this engine does its own way, as operations that are written once for the SQL engines ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.domain.flow.gates import Limit
from penstock.domain.job import Event
from penstock.domain.options import PRIORITY_MAX
from penstock.store import contract as p
from penstock.store.sql.endings import Ending
from penstock.store.sql.engine import Found, Noting
from penstock.store.sql.happening import told_enqueued
from penstock.store.sql.rows import DeadJob, read_tags, resource_text
from penstock.store.sql.steps import Steps, at_once
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.tx import Tx, as_json, fetch
from penstock.store.sqlite.hot import gates
from penstock.store.sqlite.hot.enqueue import enqueue_jobs
from penstock.store.sqlite.hot.expiry import catch_up
from penstock.store.sqlite.hot.finish import end_attempts, record_ends, remove_jobs
from penstock.store.sqlite.hot.lines import leave_line
from penstock.store.sqlite.hot.mend import mend_gates, mend_lanes
from penstock.store.sqlite.hot.unroutable import end_waiting
from penstock.store.sqlite.pages import dead_where


class SqliteEngine(Noting):
    """In one transaction, perhaps with others. What it does is done at once: nothing is asked for."""

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx.happened)
        self._tx = tx
        self.random = tx.random
        self.beats = tx.lanes.beats

    def hold_claims(self) -> Steps[None]:
        yield from ()  # One transaction writes at a time.

    def hold_schedules(self, names: Sequence[str]) -> Steps[None]:
        yield from ()

    def wake(self) -> Steps[None]:
        yield from ()
        self._tx.wake = True

    # Jobs

    def enqueue(
        self, jobs: Sequence[p.NewJob], retried_from: Mapping[str, str] | None = None, strict: bool = True,
        news: bool = True,
    ) -> Steps[list[p.Enqueued]]:  # fmt: skip
        yield from ()
        mark = len(self._tx.happened)
        if retried_from is None:
            stored = enqueue_jobs(self._tx, jobs, strict=strict)
        else:
            stored = [one for job in jobs for one in enqueue_jobs(self._tx, [job], retried_from[job.id], strict)]
        self._tx.happened[mark:] = told_enqueued(jobs, stored, news)  # What is noted there is in the answers too.
        return stored

    @at_once
    def end_attempts(self, endings: Sequence[Ending]) -> p.Finished:
        return p.Finished(cancelled=end_attempts(self._tx, endings, "default"))

    @at_once
    def expire(self, ids: Sequence[str] | None = None) -> None:
        catch_up(self._tx)

    @at_once
    def cancel_waiting(self, job_id: str, job: Found, reason: str) -> bool | None:
        tx, seq = self._tx, job.number
        tx.change("unready_job", seq=seq)
        tx.change("unschedule_job", seq=seq)
        if job.gates is not None:
            tx.change("unpark_job", seq=seq)
            leave_line(tx, [job_id])
            gates.wake_gates_of(tx, job.gates)
        tx.change("cancel_waiting_job", seq=seq, now=tx.now)
        record_ends(tx, [job_id], Event.CANCEL, reason)
        return job.due_at > tx.now

    @at_once
    def fail_waiting(self, fail: p.FailUnroutable) -> list[str]:
        catch_up(self._tx)
        found = self._tx.array(
            "unroutable_jobs", type=fail.type, queue=fail.queue, capability=fail.capability,
            resources=resource_text(fail.resources), limit=fail.limit,
        )  # fmt: skip
        if found:
            end_waiting(self._tx, found, fail.reason)
        return [job_id for _, job_id in found]

    @at_once
    def raise_waiting(self, ageing: int, limit: int) -> int:
        tx = self._tx
        catch_up(tx)
        found = tx.run("aged_jobs", now=tx.now, ageing=ageing, top=PRIORITY_MAX, limit=limit)
        for lane, priority, due_at, seq, raised in found:
            tx.change("raise_ready", lane=lane, priority=priority, due_at=due_at, seq=seq, raised=raised)
            tx.change("raise_job", seq=seq, raised=raised)
        return len(found)

    @at_once
    def find_dead(self, filter: p.DeadFilter, limit: int) -> list[DeadJob]:
        where, bindings = dead_where(filter)
        rows = fetch(self._tx.db, sql("find_dead").format(where=where), {**bindings, "limit": limit})
        return [DeadJob._make([*columns, read_tags(tags, columns[0])]) for *columns, tags in rows]

    @at_once
    def remove(self, ids: Sequence[str]) -> int:
        return remove_jobs(self._tx, self._tx.value("numbers_of_jobs", ids=as_json(ids)))

    # Limits

    @at_once
    def fix_limits(self, limits: Sequence[Limit]) -> None:
        gates.fix_limits(self._tx, limits)

    @at_once
    def tend_gates(self, mend: bool) -> None:
        if mend:
            mend_gates(self._tx)
            mend_lanes(self._tx)
        gates.tend_gates(self._tx)

    # Workers

    @at_once
    def begin_sessions(self) -> None:
        if not self._tx.change("move_tokens", now=self._tx.now):
            self._tx.change("begin_tokens", now=self._tx.now)

    def beat(self, session: int, moment: int) -> None:
        self._tx.beat = session  # Noted with the moment of the transaction once it is committed.
