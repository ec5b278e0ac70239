"""What a bulk of jobs with keys costs: four times as many are four times the work, not sixteen times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from psycopg import ClientCursor

from penstock.domain.flow.gates import Gate
from penstock.domain.options import Unique
from penstock.store import contract as p
from penstock.store.drive import drive
from penstock.store.postgres.connection.statements import numbered, sql
from penstock.store.postgres.hot.enqueue import KEYED_AT_ONCE, enqueue_steps
from penstock.store.sql.steps import Rows, Statement
from tests.store.postgres.rivals import Connection, RivalWorld, new_world

pytestmark = pytest.mark.turns

FEW, TIMES = 300, 4
READ_IN_TABLES = (
    "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_xact_user_tables"
)


class Cost(NamedTuple):
    """Of one bulk: its statements, the characters that are sent, and the rows that pass through their plans."""

    statements: list[str]
    sent: int
    rows: float
    read: int


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


def one_key(number: int) -> tuple[Gate, ...]:
    return (Gate("key:a", 5, None, "key:a"),)


def one_rate(number: int) -> tuple[Gate, ...]:
    return (Gate("rate:a", 5, 1_000_000, "rate:a"),)


def a_key_each(number: int) -> tuple[Gate, ...]:
    return (Gate(f"key:{number}", 1, None, "key:{number}"),)


def two_of_each_key(number: int) -> tuple[Gate, ...]:
    return (*a_key_each(number // 2), *one_rate(number))


def one_line(number: int) -> tuple[Gate, ...]:
    return (Gate("key:a", 1, None, "key:a", True),)


def a_line_for_two(number: int) -> tuple[Gate, ...]:
    return (Gate(f"key:{number // 2}", 1, None, "key:{number}", True),)


def passing(plan: dict[str, Any]) -> float:
    """The rows that a part of a plan and the parts below it look at."""
    dropped = sum(plan.get(f"Rows Removed by {what}", 0) for what in ("Filter", "Join Filter", "Index Recheck"))
    here: float = (plan["Actual Rows"] + dropped) * plan["Actual Loops"]
    return here + sum(passing(part) for part in plan.get("Plans", ()))


def explained(connection: Connection, text: str, bindings: dict[str, Any]) -> dict[str, Any]:
    """How the server has carried out the statement, which is taken back."""
    query = numbered(text)
    connection.execute("SAVEPOINT trial")
    connection.execute(f"PREPARE trial ({', '.join(query.types)}) AS ".encode() + query.text)
    given = ", ".join(f"%({name})s::{kind}" for name, kind in zip(query.names, query.types, strict=True))
    explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE trial ({given})"
    [(found,)] = ClientCursor(connection).execute(explain.encode(), bindings).fetchall()
    connection.execute("ROLLBACK TO trial")
    connection.execute("DEALLOCATE trial")
    plan: dict[str, Any] = found[0]["Plan"]
    return plan


def limited(world: RivalWorld, count: int, gates: Callable[[int], tuple[Gate, ...]]) -> list[p.NewJob]:
    one = world.new_job()
    return [msgspec.structs.replace(one, id=world.new_id(), gates=gates(number)) for number in range(count)]


def unique(world: RivalWorld, count: int) -> list[p.NewJob]:
    return [world.new_job(unique=Unique(f"key:{number}", per=60)) for number in range(count)]


def bulk(world: RivalWorld, jobs: list[p.NewJob], plans: str) -> Cost:
    """Store these in one call as a client does, and take them back. Every statement is tried once before."""
    names: list[str] = []
    sent, rows = 0, 0.0
    with world.rival() as connection:

        def execute(statement: Statement) -> Rows:
            nonlocal sent, rows
            text = sql(statement.name, world.schema)
            bindings = {**statement.parameters, "now": world.clock.now_us(), "channel": "nobody"}
            names.append(statement.name)
            sent += len(str(bindings))
            rows += passing(explained(connection, text, bindings))
            cursor = connection.execute(text.encode(), bindings)
            return cursor.fetchall() if cursor.description else []

        connection.execute(f"SET LOCAL plan_cache_mode = '{plans}'".encode())
        drive(enqueue_steps(jobs), execute)
        [(read,)] = connection.execute(READ_IN_TABLES).fetchall()
    return Cost(names, sent, rows, read)


# A statement that is used often is planned without a look at how many ids it is given.
@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("gates", [one_key, one_rate, a_key_each, two_of_each_key, one_line, a_line_for_two])
def test_four_times_as_many_limited_jobs_are_four_times_the_work(
    world: RivalWorld, gates: Callable[[int], tuple[Gate, ...]], plans: str
) -> None:
    world.add()  # Makes the lane.
    few, many = (bulk(world, limited(world, count, gates), plans) for count in (FEW, TIMES * FEW))
    assert_in_proportion(few, many)


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("held", [False, True])
def test_four_times_as_many_unique_jobs_are_four_times_the_work(world: RivalWorld, plans: str, held: bool) -> None:
    world.add()
    if held:
        world.enqueue(*unique(world, TIMES * FEW))
        world.clock.advance(61)
    few, many = (bulk(world, unique(world, count), plans) for count in (FEW, TIMES * FEW))
    assert_in_proportion(few, many)


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
def test_four_times_as_many_due_times_are_four_times_the_work(world: RivalWorld, plans: str) -> None:
    world.add()
    now = world.clock.now_us()

    def spread(count: int) -> list[p.NewJob]:
        return [world.new_job(at=now + 1000 * number) for number in range(count)]

    few, many = (bulk(world, spread(count), plans) for count in (FEW, TIMES * FEW))
    assert len(few.statements) == 1
    assert_in_proportion(few, many)


def assert_in_proportion(few: Cost, many: Cost) -> None:
    assert many.statements == few.statements
    assert many.sent <= few.sent * TIMES * 1.1
    assert many.rows <= few.rows * TIMES * 1.1
    assert many.read <= few.read * TIMES * 1.1


def test_ids_are_hashed_however_many_there_are_and_however_little_memory(world: RivalWorld) -> None:
    """Without a hash each id would be compared with all others. No more are sent than the server makes one for."""
    one = msgspec.structs.replace(world.new_job(), gates=one_key(0))
    jobs = [msgspec.structs.replace(one, id=world.new_id()) for _ in range(2 * KEYED_AT_ONCE + 1)]
    filters: list[str] = []
    sizes: list[int] = []
    with world.rival() as connection:
        connection.execute("SET LOCAL work_mem = '256kB'")

        def execute(statement: Statement) -> Rows:
            text, bindings = sql(statement.name, world.schema), {**statement.parameters, "now": 1, "channel": "nobody"}
            if statement.name == "insert_gated_jobs":
                sizes.append(len(bindings["ids"]))
                [(plan,)] = connection.execute(f"EXPLAIN (FORMAT JSON) {text}".encode(), bindings).fetchall()
                filters.extend(found for found in conditions(plan[0]["Plan"]) if "SubPlan" in found)
                return [(1, None, None)]
            cursor = connection.execute(text.encode(), bindings)
            return cursor.fetchall() if cursor.description else []

        drive(enqueue_steps(jobs), execute)
    assert sizes == [KEYED_AT_ONCE, KEYED_AT_ONCE, 1]
    assert len(filters) == 2 * len(sizes)
    assert all("hashed SubPlan" in found for found in filters), filters


def conditions(plan: dict[str, Any]) -> Iterator[str]:
    yield from (plan[name] for name in ("Filter", "Join Filter") if name in plan)
    for part in plan.get("Plans", ()):
        yield from conditions(part)


def test_a_bulk_of_more_than_one_statement_is_stored_whole_and_in_order(world: RivalWorld) -> None:
    session = world.register()
    one = msgspec.structs.replace(world.new_job(), gates=one_key(0))
    jobs = [msgspec.structs.replace(one, id=world.new_id()) for _ in range(KEYED_AT_ONCE + 10)]
    assert all(new.created for new in world.enqueue(*jobs))
    assert [claim.id for claim in world.claim(session, 100)] == [job.id for job in jobs[:5]]
    assert [new.created for new in world.enqueue(*jobs[-3:], jobs[0])] == [False] * 4


def test_no_statement_of_a_bulk_looks_through_an_array_for_each_job() -> None:
    """What a plan does not count: a look through all ids, or for the n-th of many texts, takes a time that grows."""
    text = re.sub(r"--.*", "", sql("insert_gated_jobs", "penstock"))
    assert re.findall(r"\b(?:ANY|ALL)\s*\(|\)\s*\[", text) == []
