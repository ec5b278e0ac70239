"""Pages that stay quick: found in order or where jobs are few, and the same whichever way they are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.domain.job import FINAL, Event, State
from penstock.store.contract import CountWaiting, DeadFilter, ListDead, ListJobs
from penstock.store.drive import drive
from penstock.store.postgres import pages
from penstock.store.postgres.connection.statements import in_schema, sql
from penstock.store.postgres.pages import PAGES
from penstock.store.sql.operations import reads
from penstock.store.sql.steps import Rows, Statement, Steps
from tests.store.postgres.rivals import RivalWorld, new_world

MANY = 20_000
ALL_STATES = frozenset(State)


@pytest.fixture(scope="module")
def large() -> Iterator[RivalWorld]:
    """Twenty thousand jobs: half of them wait and half have ended, of which one in a hundred is dead."""
    with new_world() as world:
        world.rows("INSERT INTO lane (type, queue, capability, resources, priority) VALUES ('task', 'q', 'c', '', 0)")
        world.rows(f"""
            INSERT INTO job (id, lane, due_at, created_at, payload)
            SELECT ('01a1e215-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 1, number, number, '1'
            FROM generate_series(1, {MANY}) AS number
        """)
        world.rows(
            f"INSERT INTO waiting (lane, due_at, id) SELECT lane, due_at, id FROM job WHERE due_at > {MANY // 2}"
        )
        world.rows(f"""
            INSERT INTO outcome (id, state, attempt, finished_at)
            SELECT id, CASE WHEN due_at % 100 = 0 THEN 2 ELSE 1 END, 1, due_at FROM job WHERE due_at <= {MANY // 2}
        """)
        world.rows("ANALYZE job, waiting, outcome, lane")
        yield world


def plan(world: RivalWorld, steps: Steps[Any]) -> str:
    """How the server would carry out what the operation asks for."""
    found: list[str] = []
    with world.connect() as connection:

        def execute(statement: Statement) -> Rows:
            text = in_schema(statement.text, world.schema) if statement.text else sql(statement.name, world.schema)
            bindings = {**statement.parameters, "now": None}
            found.extend(line for (line,) in connection.execute(f"EXPLAIN {text}".encode(), bindings))
            return connection.execute(text.encode(), bindings).fetchall()

        drive(steps, execute)
    return "\n".join(found)


@pytest.mark.parametrize("fields", [{}, {"type": "task"}, {"queue": "q"}])
@pytest.mark.parametrize("states", [None, *({state} for state in State), FINAL, ALL_STATES], ids=str)
def test_no_page_reads_all_jobs(large: RivalWorld, states: set[State] | None, fields: dict[str, str]) -> None:
    params = ListJobs(states=None if states is None else frozenset(states), **fields)  # type: ignore[arg-type]
    assert "Seq Scan on job" not in plan(large, reads.list_jobs(PAGES, params))


def test_one_job_and_a_page_of_dead_letters_are_found_by_their_keys(large: RivalWorld) -> None:
    assert "Seq Scan on job" not in plan(large, reads.read_job(PAGES, "01a1e215-0000-7000-8000-000000000001"))
    dead = plan(large, reads.list_dead(PAGES, ListDead(filter=DeadFilter())))
    assert ("Seq Scan on job" in dead, "Seq Scan on outcome" in dead) == (False, False)


def test_what_waits_is_counted_without_reading_all_of_it(large: RivalWorld) -> None:
    (lane,) = large.store.count_waiting(CountWaiting(100)).wait()
    assert (lane.jobs, lane.oldest_due_at) == (100, MANY // 2 + 1)
    assert "Seq Scan on waiting" not in plan(large, reads.count_waiting(CountWaiting(100)))


def test_the_newest_pending_ones_of_many_that_wait(large: RivalWorld) -> None:
    page = large.store.list_jobs(ListJobs(states=frozenset({State.PENDING}), limit=3)).wait()
    assert [job.id[-4:] for job in page] == [f"{number:04x}" for number in (MANY, MANY - 1, MANY - 2)]


@pytest.mark.parametrize("few", [0, 10_000])
def test_pending_jobs_are_the_same_among_few_and_among_many(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(pages, "WAITING_FEW", few)
    with new_world() as world:
        session = world.register()
        first, dead, held, cancelled = world.add_many(4)
        world.end(world.claim_one(session), Event.RELEASE)
        claims = world.claim(session, 3)
        world.end(claims[0], Event.BACK_OFF)
        world.end(claims[1], Event.FAIL)
        world.cancel(cancelled)
        world.add(delay=60)
        other = world.add(type="other")
        pending = frozenset({State.PENDING})
        assert claims[2].id == held
        assert world.list_ids(states=pending) == [other, first]
        assert world.list_ids(states=pending, type="other") == [other]
        assert world.list_ids(states=pending, before=other) == [first]
        assert set(world.list_ids(states=pending | FINAL)) == {other, first, dead, cancelled}


def test_a_page_beyond_the_last_dead_letter_still_tells_how_many_there_are(large: RivalWorld) -> None:
    page = large.store.list_dead(ListDead(limit=5, offset=1000)).wait()
    assert (page.jobs, page.total) == ([], MANY // 200)
