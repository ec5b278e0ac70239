"""What a crash of the server may undo: a claim as a whole, never the part of it that gives jobs back."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.options import Tenant
from penstock.store.postgres.hot import gates, turns
from penstock.store.sql.steps import Rows, Steps, run
from tests.postgres.server import Server
from tests.store.postgres.rivals import RivalWorld, new_world

pytestmark = pytest.mark.turns


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """It forgets what was not synced: nobody but a commit that waits writes the log."""
    with Server(18, settings={"wal_writer_delay": "10s"}) as server:
        yield server


@pytest.fixture
def world(server: Server) -> Iterator[RivalWorld]:
    with new_world(server) as world:
        yield world


def crash_after_claim(
    world: RivalWorld, monkeypatch: pytest.MonkeyPatch, module: ModuleType, statement: str
) -> tuple[set[str], set[str]]:
    """Somebody's commit saves the first part of a claim, before this statement; when all is done, the server crashes.

    Answers which jobs the worker was told of, and which it holds afterwards.
    """

    def save_and_run(name: str, **parameters: object) -> Steps[Rows]:
        if name == statement:
            world.rows("CREATE TABLE saved ()")
        return (yield from run(name, **parameters))

    session = world.register()
    monkeypatch.setattr(module, "run", save_and_run)
    told = {claim.id for claim in world.claim(session, 2)}
    world.server.kill()
    world.server.start()
    return told, {job_id for (job_id,) in world.rows("SELECT id::text FROM lease")}


def test_what_made_room_for_other_tenants_is_not_held_again(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    many = world.add_many(3, tenant=Tenant("a"))
    world.clock.advance(1)
    world.add_many(3, tenant=Tenant("b"))
    told, held = crash_after_claim(world, monkeypatch, turns, "give_back")
    assert told & set(many[:2]), "one of them made room"
    assert len(told) == 2
    assert held == told


def test_what_waits_for_a_limit_is_not_held_again(world: RivalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = (Gate("key:a", 1, None, "key:a"),)
    jobs = [world.enqueue(msgspec.structs.replace(world.new_job(), gates=gate))[0].id for _ in range(2)]
    told, held = crash_after_claim(world, monkeypatch, gates, "admit")
    assert told == held == set(jobs[:1])
