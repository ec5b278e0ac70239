"""What administrators do to tables to shrink and repair them, while everybody works in them."""

from __future__ import annotations

import psycopg

from tests.chaos.catalogue import fault
from tests.chaos.faults.server import on_postgres
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' ORDER BY relname"
REWRITES = ("VACUUM (FULL, ANALYZE) {table}", "REINDEX TABLE {table}", "REINDEX TABLE CONCURRENTLY {table}")
INVALID = """
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = %s::regnamespace AND NOT indisvalid
"""


@fault(row=26, engines=("postgresql",), rare=True)
def tables_rewritten(stage: Stage) -> None:
    """VACUUM FULL and REINDEX, also CONCURRENTLY, of every table again and again: all wait their turn and go on."""
    place = on_postgres(stage)
    tables = [name for (name,) in place.rows(TABLES, place.schema)]
    stage.begin()
    done = 0
    while done < stage.size.rounds or stage.loading():
        for rewrite in stage.dice.sample(REWRITES, len(REWRITES)):
            for table in stage.dice.sample(tables, len(tables)):
                _rewrite(stage, rewrite.format(table=f"{place.schema}.{table}"))
                stage.tend()
        done += 1
    settle(stage)


def _rewrite(stage: Stage, statement: str) -> None:
    """Until it is done: if it and others wait for each other, the server may end this one, and nothing has happened."""
    place = on_postgres(stage)
    while True:
        try:
            place.rows(statement)
        except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable):
            for (index,) in place.rows(INVALID, place.schema):
                place.rows(f"DROP INDEX {index}")  # What an index that was not finished leaves behind.
            stage.tend()
        else:
            return
