"""Tenants that take turns: very many, others at work at the same time, and jobs from before there were turns."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from penstock.domain.job import State
from penstock.domain.options import Tenant
from penstock.store.postgres.connection.statements import migrations
from penstock.store.postgres.hot import turns
from penstock.store.postgres.hot.seen import Seen
from penstock.store.sql.steps import Steps
from penstock.store.sql.turns import Share
from tests.postgres.server import shared
from tests.store.postgres.rivals import RivalWorld, emptied_world

BEFORE = 4
"""The version of the schema without turns."""


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def served(world: RivalWorld, session: int, limit: int) -> list[str]:
    return [claim.tenant.org if claim.tenant else "-" for claim in world.claim(session, limit)]


def test_tenants_with_jobs_for_later_do_not_hide_those_whose_jobs_are_due(world: RivalWorld, session: int) -> None:
    """One claim looks at so many of them only, and the next goes on from there."""
    later = [world.new_job(tenant=Tenant(f"later-{number:04}"), delay=3600.0) for number in range(1200)]
    world.enqueue(*later)
    world.add_many(30, tenant=Tenant("a-flood"))
    world.clock.advance(1)
    world.add_many(3, tenant=Tenant("z-small"))
    given = [served(world, session, 2) for _ in range(4)]
    assert ["a-flood", "z-small"] in [sorted(two) for two in given]


def test_a_job_that_another_has_locked_costs_its_tenant_no_more_than_this_turn(world: RivalWorld, session: int) -> None:
    world.add_many(6, tenant=Tenant("a"))
    world.clock.advance(1)
    world.add_many(2, tenant=Tenant("b"))
    with world.rival() as rival:
        rival.execute("SELECT 1 FROM waiting WHERE org = 'b' FOR UPDATE")
        assert served(world, session, 2) == ["a", "a"]
    assert sorted(served(world, session, 2)) == ["a", "b"]


def test_a_queue_that_is_paused_between_the_claim_and_the_turns_gives_out_no_more(
    world: RivalWorld, session: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the claim had taken goes on; what would have been taken instead waits."""
    world.add_many(6, tenant=Tenant("a"))
    world.clock.advance(1)
    small = world.add_many(2, tenant=Tenant("b"))
    look = turns._waiting

    def look_and_pause(seen: Seen, share: Share, lanes: list[int]) -> Steps[list[str]]:
        found = yield from look(seen, share, lanes)
        world.pause("queue", "default")
        return found

    monkeypatch.setattr(turns, "_waiting", look_and_pause)
    assert served(world, session, 2) == ["a", "a"]
    assert [world.state(job) for job in small] == [State.PENDING, State.PENDING]


def test_jobs_from_before_there_were_turns_have_theirs() -> None:
    schema = f"rivals_{uuid.uuid4().hex}"
    server = shared(18)
    server.execute(f"CREATE SCHEMA {schema}")
    for version, _, text in migrations(schema):
        if version <= BEFORE:
            server.execute(text)
    server.execute(f"INSERT INTO {schema}.meta VALUES ('schema_version', {BEFORE}), ('oldest', {BEFORE})")
    ids = {org: str(uuid.uuid4()) for org in ("acme", "beta")}
    server.execute(
        f"INSERT INTO {schema}.lane (type, queue, capability, resources, priority) "
        "VALUES ('task', 'default', 'general', '', 0);"
        f"INSERT INTO {schema}.job (id, lane, due_at, created_at, payload, org) "
        f"VALUES ('{ids['acme']}', 1, 1, 1, '{{}}', 'acme'), ('{ids['beta']}', 1, 1, 1, '{{}}', 'beta');"
        f"INSERT INTO {schema}.waiting (lane, due_at, id) VALUES (1, 1, '{ids['acme']}');"
        f"INSERT INTO {schema}.gate (name, most, origin) VALUES ('key:a', 1, 'key:a');"
        f"INSERT INTO {schema}.parked (gate, lane, due_at, id) VALUES (1, 1, 1, '{ids['beta']}')"
    )
    world = RivalWorld(server, schema)
    try:
        world.store.migrate()
        assert world.rows("SELECT id::text, org FROM waiting") == [(ids["acme"], "acme")]
        assert world.rows("SELECT id::text, org FROM parked") == [(ids["beta"], "beta")]
        assert served(world, world.register(), 1) == ["acme"]
    finally:
        world.store.close()
        server.execute(f"DROP SCHEMA {schema} CASCADE")
