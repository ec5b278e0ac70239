"""A later version of penstock migrates the store while this one works on it: this one is the old code then.

What later versions may do to a schema in use: add tables, and columns that may be empty. See docs/postgres.md.
"""

from __future__ import annotations

import psycopg

from tests.chaos.catalogue import fault
from tests.chaos.places import PostgresPlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

TABLES = ("job", "lease", "outcome", "history", "worker")
WAITING = {"sqlite": ("ready", "scheduled"), "postgresql": ("waiting",)}


@fault(row=22)
def later_version(stage: Stage) -> None:
    """The store is migrated to a later version under load: whoever works on it goes on, and no job notices."""
    on_server = isinstance(stage.place, PostgresPlace)
    prefix = f"{stage.place.schema}." if isinstance(stage.place, PostgresPlace) else "penstock_"
    stage.begin()
    stage.wait(stage.size.seconds / 3)
    while not _migrate(stage, prefix):
        stage.tend()
    if on_server:  # Of a file, all programs are on one machine: the old version is not started again.
        victim = stage.dice.choice(stage.live)
        stage.kill(victim)
        stage.again(victim)
    stage.wait(stage.size.seconds / 3)
    stage.healing.append(lambda: _take_back(stage, prefix))
    settle(stage)


def _migrate(stage: Stage, prefix: str) -> bool:
    """All or nothing. Where it and a statement under way wait for each other's tables, the server ends one of them."""
    try:
        with stage.store.transaction() as tx:
            for table in (*TABLES, *WAITING[stage.place.engine]):
                tx.execute(f"ALTER TABLE {prefix}{table} ADD COLUMN of_later text")
            tx.execute(f"CREATE TABLE {prefix}of_later (id integer PRIMARY KEY)")
            tx.execute(f"UPDATE {prefix}meta SET value = value + 1 WHERE key = 'schema_version'")
    except psycopg.errors.DeadlockDetected:
        return False
    return True


def _take_back(stage: Stage, prefix: str) -> None:
    """For those that look at the store at the end, which is the same version again."""
    with stage.store.transaction() as tx:
        tx.execute(f"UPDATE {prefix}meta SET value = value - 1 WHERE key = 'schema_version'")
