"""Stores that came from elsewhere: restored from a dump, copied row by row, replaced under those who use them.

The transaction of a row, the numbers of lanes and the sequences of such a store are those of another time or server.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.store import contract as p
from penstock.store.postgres.connection.statements import sql
from penstock.store.postgres.hot import claim as claims
from penstock.store.postgres.hot.claim import claim_steps
from tests.postgres.binaries import programs
from tests.store.postgres.callers import opened
from tests.store.postgres.held import Runner, faults
from tests.store.postgres.rivals import RivalWorld, new_world

FOREIGN = "UPDATE waiting SET xid = (9000000000 + extract(epoch FROM now())::bigint % 7)::text::xid8"
"""As if its transaction were one of another server, which had had many more."""
MANY = 20_000
BLOCKS_MAX = 150
"""Of the server's memory that a claim of one job may look at: a walk over so many rows is more."""
TYPES = ("one", "two", "three")
TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT IN ('meta', 'order_number')
"""


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def drained(world: RivalWorld, session: int, limit: int = 100) -> list[p.Claim]:
    """All that can be claimed, and completed."""
    found: list[p.Claim] = []
    while taken := world.claim(session, limit):
        assert world.complete(*taken) == []
        found += taken
    return found


def add_types(world: RivalWorld, *types: str) -> None:
    """A job of each, whose payload names its type."""
    for name in types:
        world.add(type=name, payload=f'"{name}"')


# Transactions of another server


@pytest.mark.parametrize("delay", [0.0, 3600.0])
def test_any_number_of_restored_jobs_is_claimed_and_hides_no_new_one(
    world: RivalWorld, session: int, monkeypatch: pytest.MonkeyPatch, delay: float
) -> None:
    monkeypatch.setattr(claims, "FLOOD", 50)
    restored = world.add_many(200, delay=delay)
    world.rows(FOREIGN)
    new = world.add(type="other")
    found = [job.id for job in drained(world, session)]
    assert sorted(found) == sorted([new] if delay else [*restored, new])
    for _ in range(3):
        later = world.add(type="other")
        assert [job.id for job in drained(world, session)] == [later]
    if delay:
        world.clock.advance(delay)
        assert sorted(job.id for job in drained(world, session)) == sorted(restored)


def blocks_of_a_claim(runner: Runner, session: int) -> int:
    """How much of the server's memory the statement of the next claim looks at, and what it takes is given back."""
    steps = claim_steps(p.ClaimJobs(session, 10), runner.seen)
    statement = next(steps)
    steps.close()
    assert statement.name in ("claim_jobs", "claim_one_lane")
    text = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql(statement.name, runner.world.schema)
    with runner.world.rival() as conn:
        conn.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        given = {**statement.parameters, "now": runner.world.clock.now_us()}
        [([plan],)] = conn.execute(text.encode(), given).fetchall()
    return int(plan["Plan"]["Shared Hit Blocks"]) + int(plan["Plan"]["Shared Read Blocks"])


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_claims_walk_over_the_jobs_of_an_open_transaction_once_at_most(
    world: RivalWorld, session: int, end: str
) -> None:
    world.add(type="other")
    with world.rival() as writer, world.connect() as conn:
        runner = Runner(world, conn)
        for _ in range(MANY // 10_000):
            jobs = [world.new_job() for _ in range(10_000)]
            world.store.enqueue_jobs(p.EnqueueJobs(jobs, writer)).wait()
        assert len(runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs) == 1
        for _ in range(2):  # The first has met it.
            world.add(type="other")
            assert len(runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs) == 1
        world.add(type="other")
        assert blocks_of_a_claim(runner, session) < BLOCKS_MAX
        assert len(runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs) == 1
        getattr(writer, end)()
        expected = 10 if end == "commit" else 0
        assert len(runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs) == expected
        assert blocks_of_a_claim(runner, session) < BLOCKS_MAX


def test_later_jobs_of_an_open_transaction_are_not_walked_over_either(world: RivalWorld, session: int) -> None:
    """They are of the type that is claimed, and come after all that is due."""
    later = world.add(delay=600.0)
    with world.rival() as writer, world.connect() as conn:
        runner = Runner(world, conn)
        for _ in range(MANY // 10_000):
            jobs = [world.new_job(delay=300.0) for _ in range(10_000)]
            world.store.enqueue_jobs(p.EnqueueJobs(jobs, writer)).wait()
        for _ in range(3):
            new = world.add()
            assert [job.id for job in runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs] == [new]
        world.add()
        assert blocks_of_a_claim(runner, session) < BLOCKS_MAX
        writer.rollback()
        runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen))
        world.clock.advance(600.0)
        assert [job.id for job in runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs] == [later]


def test_restored_jobs_are_not_walked_over_by_claims_of_others(world: RivalWorld, session: int) -> None:
    for _ in range(MANY // 10_000):
        world.add_many(10_000, delay=3600.0)
    world.rows(FOREIGN)
    with world.connect() as conn:
        runner = Runner(world, conn)
        assert runner.run(claim_steps(p.ClaimJobs(session, 10), runner.seen)).jobs == []
        world.add(type="other")
        assert blocks_of_a_claim(runner, session) < BLOCKS_MAX


# Replaced under those who use it


def test_store_that_is_made_anew_under_a_living_worker(world: RivalWorld, session: int) -> None:
    """The lanes are numbered otherwise now: no job may run another type's handler, and none may be overlooked."""
    add_types(world, *TYPES)
    before = drained(world, session)
    add_types(world, *TYPES)
    other = RivalWorld(world.server, world.schema)
    world.rows(f"DROP SCHEMA {world.schema} CASCADE")
    other.store.migrate()
    assert other.register() == session
    add_types(other, *reversed(TYPES), "four")
    add_types(world, "five", "one")
    after = drained(world, session)
    assert sorted(job.type for job in after) == sorted([*TYPES, "four", "five", "one"])
    assert all(msgspec.json.decode(job.payload) == job.type for job in after)
    assert min(job.token for job in after) > max(job.token for job in before)
    other.store.close()


def test_older_dump_that_is_restored_under_a_living_worker(world: RivalWorld, session: int, tmp_path: Path) -> None:
    add_types(world, "one", "two")
    dump = tmp_path / "dump.sql"
    tool = [str(programs(18) / "pg_dump"), "-n", world.schema, "-f", str(dump), world.server.url()]
    subprocess.run(tool, check=True)
    add_types(world, "three", "four")
    world.pause("queue", "default")
    world.resume("queue", "default")
    tokens = [job.token for job in drained(world, session)]
    world.pause("type", "two")
    assert world.claim(session) == []
    world.rows(f"DROP SCHEMA {world.schema} CASCADE")
    tool = [str(programs(18) / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dump), world.server.url()]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
    add_types(world, "four", "three")
    found = drained(world, session)
    assert sorted(job.type for job in found) == ["four", "one", "three", "two"]
    assert all(msgspec.json.decode(job.payload) == job.type for job in found)
    assert min(job.token for job in found) > max(tokens)
    assert faults(world) == []


def test_enqueueing_in_a_transaction_after_the_store_was_made_anew(world: RivalWorld, session: int) -> None:
    """That the lane was made is remembered, and is not true any more."""
    with world.rival() as conn:
        world.store.enqueue_jobs(p.EnqueueJobs([world.new_job(type="mine")], conn)).wait()
        conn.commit()
    world.rows(f"DROP SCHEMA {world.schema} CASCADE")
    world.store.migrate()
    session = world.register()
    world.add(type="other")
    with world.rival() as conn:
        job = world.new_job(type="mine")
        world.store.enqueue_jobs(p.EnqueueJobs([job], conn)).wait()
        conn.commit()
    assert [(one.id, one.type) for one in drained(world, session) if one.type != "other"] == [(job.id, "mine")]


# Copied without the sequences


def test_rows_that_were_copied_without_their_sequences(world: RivalWorld, session: int) -> None:
    """As logical replication does it: into tables that a migration has made."""
    add_types(world, *TYPES)
    world.enqueue(limited(world, "key"))
    done, open_ = world.claim(session, 1), world.claim(session, 1)
    world.complete(*done, history="all")
    with new_world() as copy:
        for (name,) in world.rows(TABLES):
            copy.rows(f"INSERT INTO {name} OVERRIDING SYSTEM VALUE SELECT * FROM {world.schema}.{name}")
        fresh = copy.register("fresh")
        assert fresh > session
        add_types(copy, "new")
        copy.enqueue(limited(copy, "other"))
        found = copy.claim(fresh)
        assert sorted(job.type for job in found) == ["new", "task", "task", "three"]
        assert min(job.token for job in found) > max(job.token for job in (*done, *open_))
        assert copy.complete(*found, history="all") == []
        assert faults(copy) == []


def limited(world: RivalWorld, key: str) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(), gates=(Gate(key, 1, None, key),))


def test_program_that_only_enqueues_into_such_a_copy(world: RivalWorld) -> None:
    world.rows(
        "INSERT INTO lane (lane, type, queue, capability, resources, priority) OVERRIDING SYSTEM VALUE "
        "SELECT number, 't' || number, 'q', '', '', 0 FROM generate_series(1, 5) AS number"
    )
    job = world.add(type="new")
    assert world.read(job).type == "new"
    with world.rival() as conn:
        other = world.new_job(type="newer")
        world.store.enqueue_jobs(p.EnqueueJobs([other], conn)).wait()
        conn.commit()
    assert world.read(other.id).type == "newer"


# What was undone is not remembered


@pytest.mark.parametrize("kind", opened)
def test_lanes_of_a_transaction_that_was_undone_in_part(world: RivalWorld, session: int, kind: str) -> None:
    """The first jobs of their types come within a savepoint that is rolled back, and come again after it."""

    async def story() -> list[str]:
        async with opened[kind](world.server.url(), False) as caller:
            await caller.begin()
            await caller.execute("SAVEPOINT here")
            await enqueue(caller, "one", "two")
            await caller.execute("ROLLBACK TO SAVEPOINT here")
            kept = await enqueue(caller, "two", "three")
            await caller.commit()
            await caller.begin()
            await enqueue(caller, "four")
            await caller.rollback()
            await caller.begin()
            kept += await enqueue(caller, "four", "one")
            await caller.commit()
            return kept

    async def enqueue(caller: Any, *types: str) -> list[str]:
        jobs = [world.new_job(type=name, payload=f'"{name}"') for name in types]
        await caller.carry_out(world.store.enqueue_jobs(p.EnqueueJobs(jobs, caller.conn)))
        return [job.id for job in jobs]

    world.rows("DELETE FROM lane")
    kept = asyncio.run(story())
    found = drained(world, session)
    assert sorted(job.id for job in found) == sorted(kept)
    assert all(msgspec.json.decode(job.payload) == job.type for job in found)
