"""Rows that others move while a statement is choosing: whatever it then does, a job is in one place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from penstock.domain.job import State
from penstock.domain.options import NO_RESOURCES, Tenant
from penstock.store import contract as p
from penstock.store.postgres.engine import PostgresEngine
from penstock.store.postgres.hot.claim import claim_steps
from penstock.store.postgres.hot.turns import _take
from penstock.store.sql.operations import duties
from penstock.store.sql.steps import Steps
from tests.store.postgres.held import Runner, faults
from tests.store.postgres.rivals import RivalWorld, new_world

pytestmark = pytest.mark.turns

MINUTE = 60.0
JOBS = 3

OLD_RAISE = """
WITH moved AS (
    UPDATE waiting SET lane = higher.lane, xid = pg_current_xact_id()
    FROM lane AS lower JOIN lane AS higher
        ON higher.type = lower.type AND higher.queue = lower.queue AND higher.priority = lower.priority + 1
    WHERE waiting.lane = lower.lane
    RETURNING waiting.id, waiting.lane
)
UPDATE job SET lane = moved.lane FROM moved WHERE job.id = moved.id
"""
"""As an older penstock did it, which may lead while workers of this one claim."""

Act = Callable[[RivalWorld, int, list[str]], object]


def engine() -> PostgresEngine:
    return PostgresEngine(random.random, {})


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


def raised(world: RivalWorld, session: int, ids: list[str]) -> None:
    assert world.store.age_jobs(p.AgeJobs(MINUTE)).wait().jobs == JOBS


def raised_as_before(world: RivalWorld, session: int, ids: list[str]) -> None:
    world.rows(
        "INSERT INTO lane (type, queue, capability, resources, priority) "
        "SELECT type, queue, capability, resources, 1 FROM lane WHERE priority = 0 ON CONFLICT DO NOTHING"
    )
    world.rows(OLD_RAISE)


def cancelled(world: RivalWorld, session: int, ids: list[str]) -> None:
    for job in ids:
        world.cancel(job)


def claimed(world: RivalWorld, session: int, ids: list[str]) -> None:
    assert len(world.claim(session)) == JOBS


def failed(world: RivalWorld, session: int, ids: list[str]) -> None:
    assert len(world.store.fail_unroutable(UNROUTABLE).wait().ids) == JOBS


def expired(world: RivalWorld, session: int, ids: list[str]) -> None:
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert {world.state(job) for job in ids} == {State.EXPIRED}


MOVES = [raised, raised_as_before, cancelled, failed]
UNROUTABLE = p.FailUnroutable(
    type="task", queue="default", capability="general", resources=NO_RESOURCES, reason="nobody can"
)


def take(runner: Runner, session: int) -> Steps[list[p.Claim]]:
    lanes = list(runner.seen.lanes)
    return _take(runner.seen, session, lanes, {"acme": 10})


STATEMENTS: dict[str, Callable[[Runner, int], Steps[object]]] = {
    "claim_one_lane": lambda runner, session: claim_steps(p.ClaimJobs(session, 10), runner.seen),
    "claim_jobs": lambda runner, session: claim_steps(p.ClaimJobs(session, 10), runner.seen),
    "take_turns": take,
    "expire_jobs": lambda runner, session: duties.expire_jobs(engine(), p.ExpireJobs()),
    "fail_unroutable": lambda runner, session: duties.fail_unroutable(engine(), UNROUTABLE),
}


PAIRS = [
    pytest.param(statement, move, id=f"{statement}-{move.__name__}")
    for statement in STATEMENTS
    for move in (*MOVES, claimed, expired)
    if statement != "expire_jobs" or move not in (claimed, raised, failed)  # Those leave alone what has expired.
]


@pytest.mark.parametrize(("statement", "move"), PAIRS)
def test_job_that_is_moved_while_a_statement_chooses_is_in_one_place(
    world: RivalWorld, statement: str, move: Act
) -> None:
    session, other = world.register("one"), world.register("two")
    late = statement == "expire_jobs" or move is expired
    fields = {"tenant": Tenant("acme")} if statement == "take_turns" else {}
    ids = world.add_many(JOBS, ttl=30.0 if late else None, **fields)
    if statement == "claim_jobs":  # Two lanes are known.
        world.add(type="other", delay=3600.0)
        world.add(type="another", delay=3600.0)
    world.clock.advance(10)
    with world.connect() as conn:
        runner = Runner(world, conn)
        assert runner.run(claim_steps(p.ClaimJobs(session, 0), runner.seen)).jobs == []
        world.clock.advance(MINUTE)
        runner.held(statement, lambda: STATEMENTS[statement](runner, session), lambda: move(world, other, ids))
    assert faults(world) == []
    world.store.expire_jobs(p.ExpireJobs()).wait()
    for claim in world.claim(other):
        world.complete(claim)
    assert faults(world) == []
    assert world.rows("SELECT count(*) FROM waiting WHERE due_at <= " + str(world.clock.now_us())) == [(0,)]
