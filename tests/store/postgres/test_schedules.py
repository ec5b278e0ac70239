"""Schedules on PostgreSQL: what people do is written down, and what leaders do every second is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import App
from penstock.store import contract as p
from tests.store.postgres.rivals import RivalWorld, emptied_world


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


def test_what_people_do_is_audited_and_what_leaders_do_is_not(world: RivalWorld) -> None:
    app = App(world.store, clock=world.clock)
    call = app.client.call_by_name("cleanup", {"secret": "payload"}, {}, {})
    app.schedules.add("nightly", job=call, every="1h", by="ann")
    (row,) = world.store.read_schedules(p.ReadSchedules()).wait().schedules
    fire = p.ScheduleChange("nightly", row, row.revision, (world.new_job(),))
    assert world.store.change_schedules(p.ChangeSchedules([fire])).wait().last == {"nightly": fire.jobs[0].id}
    app.schedules.remove("nightly", by="bob")
    assert world.rows("SELECT actor, action, detail FROM audit ORDER BY entry") == [
        ("ann", "schedule add", '{"schedules":[{"name":"nightly","status":"active","jobs":[]}]}'),
        ("bob", "schedule remove", '{"schedules":[{"name":"nightly","status":"removed","jobs":[]}]}'),
    ]
