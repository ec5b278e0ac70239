"""Somebody holds a snapshot for long: dead rows pile up, and a claim must not walk over them.

Judged by what a claim reads, not by how long it takes: pages of memory and disk, as the server counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.domain.job import Event
from penstock.engines import parse_address
from penstock.store.contract import ClaimJobs, FinishJobs, RegisterWorker, Unfinished
from penstock.store.postgres.connection import pool
from penstock.store.postgres.connection.address import PostgresAddress
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.hot.claim import claim_steps
from penstock.store.postgres.store import PostgresStore
from tests.chaos.actors import Broken
from tests.chaos.catalogue import fault
from tests.chaos.faults.server import on_postgres
from tests.chaos.load import Plan, new_id
from tests.chaos.places import PostgresPlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

ROUNDS = 5
JOBS = 500
"""Of a round: they do nothing, so that even a short run can churn through many."""
PAGES_PER_JOB = 2
SLACK_PAGES = 50


class Meter:
    """A worker that claims once in a while, on one connection, and can tell what a claim on it would read."""

    def __init__(self, place: PostgresPlace) -> None:
        address = parse_address(place.address())
        assert isinstance(address, PostgresAddress)
        self._store = PostgresStore(address)
        self._session = (
            self._store.register_worker(
                RegisterWorker(worker_id="meter", host="here", pid=0, version="0", slots=1, stale_after=3600.0)
            )
            .wait()
            .session
        )
        self._database = self._store._database
        self._link = pool.connect(self._database, Role.CLAIM)

    def close(self) -> None:
        self._link.close()
        self._store.close()

    @property
    def _params(self) -> ClaimJobs:
        return ClaimJobs(self._session, 1, ("quick",))

    def claim(self) -> None:
        """As a worker does, and give back what was claimed."""
        operation = Operation(lambda seen: claim_steps(self._params, seen), alone=True)
        claimed = pool.carry_out(self._database, self._link, operation)
        back = [Unfinished(token=job.token, event=Event.RELEASE) for job in claimed.jobs]
        if back:
            self._store.finish_jobs(FinishJobs(unfinished=back)).wait()

    def pages(self) -> int:
        """How many pages the next claim would read. It is tried, and taken back."""
        steps = claim_steps(self._params, self._link.seen)
        statement = next(steps)
        steps.close()
        query, values = self._database.query(statement)
        explained = query._replace(text=b"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + query.text)
        conn = self._link.conn
        conn.execute("BEGIN")
        try:
            [(answer,)] = conn.wait(self._link.prepared.ask(explained, values, once=True))
        finally:
            conn.execute("ROLLBACK")
        plan: dict[str, Any] = answer[0]["Plan"]
        return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


@contextmanager
def held_snapshot(place: PostgresPlace) -> Iterator[None]:
    """Somebody's report, which began before everything and does not end."""
    with place.server.connect(autocommit=False) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM pg_class")
        yield
        connection.rollback()


@fault(row=11, engines=("postgresql",))
def long_transaction(stage: Stage) -> None:
    """A snapshot is held while jobs churn: a claim reads no more pages in the end than in the beginning."""
    place = on_postgres(stage)
    meter = Meter(place)
    stage.at_end(meter.close)
    with held_snapshot(place):
        stage.begin(settings={"types": ["quick", "tick"]}, plans=[])
        read: list[int] = []
        for _ in range(ROUNDS):
            stage.put(quick_jobs(stage))
            meter.claim()
            read.append(meter.pages())
            stage.drain()
    settle(stage)
    # What others took since its own last claim it may walk over, once; never what was taken before.
    if max(read) > PAGES_PER_JOB * JOBS + SLACK_PAGES:
        raise Broken(f"a claim reads more and more pages while a snapshot is held: {read}")


def quick_jobs(stage: Stage) -> list[Plan]:
    return [Plan(id=new_id(stage.dice), type="quick", payload={}) for _ in range(JOBS)]
