"""Migrations of a store that others are using."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.store.postgres.admin import migrate
from penstock.store.postgres.connection.statements import migrations
from tests.store.postgres.rivals import RivalWorld, new_world


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


def test_a_migration_that_deadlocks_with_others_begins_again(
    world: RivalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations(world.schema)
    text = f"ALTER TABLE {world.schema}.job ADD COLUMN a text; ALTER TABLE {world.schema}.worker ADD COLUMN a text"
    later = [*known, (known[-1][0] + 1, "later", text)]
    monkeypatch.setattr(migrate, "migrations", lambda schema: later)
    with world.rival() as rival:
        rival.execute("SET LOCAL deadlock_timeout = '1min'")  # So the migration is the one that the server ends.
        rival.execute("LOCK TABLE worker IN ROW EXCLUSIVE MODE")
        migrated = world.start_behind(rival, world.store.migrate)
        rival.execute("LOCK TABLE job IN ROW EXCLUSIVE MODE")
        rival.commit()
    assert migrated.result(30).pending == ["later"]
    assert world.rows("SELECT a FROM job UNION ALL SELECT a FROM worker") == []
