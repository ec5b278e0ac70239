"""One statement of an operation held in the middle: its snapshot is taken, and no row has been chosen yet."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.store.drive import drive
from penstock.store.postgres.connection.statements import in_schema, sql
from penstock.store.postgres.hot.seen import Seen
from penstock.store.sql.steps import Rows, Statement, Steps
from tests.store.postgres.rivals import Connection, RivalWorld

T = TypeVar("T")
LOCK = 4711

_MOMENT = f"""
CREATE OR REPLACE FUNCTION moment(given bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('test.held', true) = 'yes' THEN
        PERFORM pg_advisory_xact_lock_shared({LOCK});
    END IF;
    RETURN coalesce(given, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint);
END
$$
"""


class Runner:
    """Carries out operations on a connection of the test's own, each statement as a transaction, as claims are."""

    def __init__(self, world: RivalWorld, conn: Connection) -> None:
        self.world = world
        self.seen = Seen()
        self._conn = conn
        self._held = ""
        # A plan for all values: otherwise the planner would ask for the moment, before the snapshot.
        conn.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")

    def run(self, steps: Steps[T]) -> T:
        self.seen.note(self.world.clock.now_us())
        return drive(steps, self._execute)

    def held(self, name: str, steps: Callable[[], Steps[T]], meanwhile: Callable[[], object]) -> T:
        """Carry it out, and act when the statement of this name has its snapshot and has not chosen its rows."""
        world = self.world
        world.rows(_MOMENT)
        with world.rival() as rival:
            rival.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            self._held = name
            waits: Future[T] = world.start_behind(rival, lambda: self.run(steps()))
            meanwhile()
            rival.rollback()
            return waits.result(60)

    def _execute(self, statement: Statement) -> Rows:
        name = self.world.schema
        text = in_schema(statement.text, name) if statement.text else sql(statement.name, name)
        given: dict[str, Any] = {**statement.parameters, "now": self.world.clock.now_us(), "channel": "test"}
        if statement.name == self._held:
            self._conn.execute("SET test.held = 'yes'")
        try:
            cursor = self._conn.execute(text.encode(), given)
            return cursor.fetchall() if cursor.description else []
        finally:
            self._conn.execute("SET test.held = 'no'")


def faults(world: RivalWorld) -> Rows:
    """Jobs that are in no place or in several, and pointers to no job: what `penstock doctor --deep` would report."""
    return world.rows(sql("check_pointers", world.schema).replace("%%", "%"))
