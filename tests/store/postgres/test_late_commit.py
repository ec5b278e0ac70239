"""A job whose transaction commits late is found by the next claim, however far claims have moved on (R3)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from penstock.domain.job import Event
from penstock.store import contract as p
from penstock.store.postgres.connection.statements import in_schema, sql
from penstock.store.postgres.hot import claim as claims, seen
from penstock.store.postgres.hot.claim import claim_steps
from penstock.store.postgres.hot.seen import Seen
from penstock.store.sql.steps import Rows, Statement
from tests.postgres.server import shared
from tests.store.postgres.rivals import Connection, RivalWorld, new_world
from tests.store.postgres.trouble import new_place, until, working

pytestmark = pytest.mark.turns

MANY = 3000
OPEN_SECONDS = {"on": 10.0, "off": 2.0}
WRITERS = 3
EXAMPLES = 40
WRITER = st.integers(0, WRITERS - 1)


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with new_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


def enqueue_in(world: RivalWorld, conn: Connection, **fields: Any) -> str:
    """Enqueue a job in the open transaction of a connection."""
    job = world.new_job(**fields)
    world.store.enqueue_jobs(p.EnqueueJobs([job], conn)).wait()
    return job.id


def churn(world: RivalWorld, session: int, count: int = MANY) -> None:
    """Many jobs come, are claimed and finished: the memory of the claims moves far on."""
    world.add_many(count)
    left = count
    while left:
        done = world.claim(session, 1000)
        assert done, f"{left} jobs were not found"
        assert world.complete(*done) == []
        left -= len(done)
    assert world.claim(session) == []


# One transaction and variations


def test_job_committed_late_is_in_the_next_claim(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        job_id = enqueue_in(world, late)
        churn(world, session)
        late.commit()
        assert [claim.id for claim in world.claim(session)] == [job_id]


def test_transaction_that_was_open_before_it_enqueued(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        late.execute("SELECT pg_current_xact_id()")
        churn(world, session, 500)
        job_id = enqueue_in(world, late)
        churn(world, session, 500)
        late.commit()
        assert [claim.id for claim in world.claim(session)] == [job_id]


def test_several_transactions_that_commit_in_another_order(world: RivalWorld, session: int) -> None:
    with world.rival() as one, world.rival() as two, world.rival() as three, world.rival() as never:
        ids = [enqueue_in(world, late) for late in (one, two, three)]
        enqueue_in(world, never)
        churn(world, session, 500)
        for late, job_id in ((two, ids[1]), (three, ids[2]), (one, ids[0])):
            late.commit()
            assert [claim.id for claim in world.claim(session)] == [job_id]
            churn(world, session, 200)
        never.rollback()
        assert world.claim(session) == []


def test_late_commit_of_a_savepoint(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        late.execute("SAVEPOINT outer_one")
        gone = enqueue_in(world, late)
        late.execute("ROLLBACK TO outer_one")
        late.execute("SAVEPOINT other")
        kept = enqueue_in(world, late)
        late.execute("RELEASE other")
        churn(world, session, 500)
        late.commit()
        assert [claim.id for claim in world.claim(session)] == [kept]
        assert world.find(gone) is None


def test_late_commit_while_a_reader_holds_its_snapshot(world: RivalWorld, session: int) -> None:
    with world.rival() as reader, world.rival() as late:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM job")
        job_id = enqueue_in(world, late)
        churn(world, session)
        late.commit()
        assert [claim.id for claim in world.claim(session)] == [job_id]


def test_higher_priority_committed_late_comes_first(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        urgent = enqueue_in(world, late, priority=50)
        churn(world, session, 500)
        waiting = world.add_many(10)
        late.commit()
        assert [claim.id for claim in world.claim(session, 3)] == [urgent, *waiting[:2]]


def test_job_that_is_due_before_all_others_comes_first_although_committed_last(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        first = enqueue_in(world, late)
        world.clock.advance(5)
        waiting = world.add_many(500)
        assert [claim.id for claim in world.claim(session, 100)] == waiting[:100]
        late.commit()
        assert [claim.id for claim in world.claim(session, 2)] == [first, waiting[100]]


def test_lane_that_is_new_with_the_late_commit(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        job_id = enqueue_in(world, late, type="other", queue="rare", priority=-7)
        churn(world, session, 500)
        late.commit()
        assert [claim.id for claim in world.claim(session)] == [job_id]


@pytest.mark.parametrize("looked_at", ["read_lanes", "heads"])
def test_lane_that_appears_while_a_connection_looks_for_the_first_time(
    world: RivalWorld, session: int, looked_at: str
) -> None:
    """Between the look at the lanes and the look at their first jobs, somebody enqueues to a new one."""
    added: list[str] = []

    def enqueue(statement: Statement) -> None:
        if statement.name == looked_at and not added:
            added.append(world.add(type="new"))

    with world.connect() as conn:
        claimer = Claimer(world, conn, session, after=enqueue)
        found = claimer.claim(10) + claimer.claim(10)
    assert [claim.id for claim in found] == added


def test_late_commit_of_a_job_for_later(world: RivalWorld, session: int) -> None:
    with world.rival() as late:
        job_id = enqueue_in(world, late, delay=10.0)
        churn(world, session, 500)
        late.commit()
        answer = world.store.claim_jobs(p.ClaimJobs(session, 10)).wait()
        assert answer.jobs == []
        assert answer.next_due_at == world.read(job_id).due_at.timestamp() * 1_000_000
        world.clock.advance(10)
        assert [claim.id for claim in world.claim(session)] == [job_id]


def test_jobs_for_later_in_many_lanes_do_not_hide_one_that_is_due(
    world: RivalWorld, session: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the nearest lanes are looked into: those whose first job is not due yet are not near."""
    monkeypatch.setattr(seen, "LANES_MIN", 2)
    for number in range(3):
        world.add(type=f"later-{number}", priority=10, delay=3600.0)
    due = world.add(priority=0)
    assert [claim.id for claim in world.claim(session)] == [due]


# Rows that others hold


def test_rows_that_another_claim_had_locked_and_gave_back(world: RivalWorld, session: int) -> None:
    ids = world.add_many(20)
    with world.rival() as other:
        other.execute("SELECT id FROM waiting ORDER BY due_at, id LIMIT 5 FOR UPDATE")
        taken = world.claim(session, 10)
        assert [claim.id for claim in taken] == ids[5:15]
        world.complete(*taken)
        churn_ids = world.add_many(300)
        assert [claim.id for claim in world.claim(session, 305)] == ids[15:] + churn_ids
        other.rollback()
        assert [claim.id for claim in world.claim(session)] == ids[:5]


def test_rows_of_a_claim_whose_backend_was_killed(world: RivalWorld, session: int) -> None:
    ids = world.add_many(20)
    other = world.connect()
    other.execute("BEGIN")
    assert len(Claimer(world, other, session).claim(5)) == 5
    assert [claim.id for claim in world.claim(session, 10)] == ids[5:15]
    pid = other.info.backend_pid
    world.rows(f"SELECT pg_terminate_backend({pid}, 30000)")
    other.close()
    assert [claim.id for claim in world.claim(session)] == ids[:5] + ids[15:]


def test_two_claimers_one_of_which_rolls_back_again_and_again(world: RivalWorld, session: int) -> None:
    ids = world.add_many(200)
    told: list[str] = []
    with world.connect() as other:
        rolling = Claimer(world, other, session)
        while len(told) < 190:
            other.execute("BEGIN")
            assert len(rolling.claim(7)) == 7
            found = world.claim(session, 10)
            other.execute("ROLLBACK")
            rolling.seen = Seen()
            told += [claim.id for claim in found]
            assert found
    told += [claim.id for claim in world.claim(session)]
    assert sorted(told) == sorted(ids)


def test_jobs_that_are_released_behind_the_memory_come_back(world: RivalWorld, session: int) -> None:
    old = world.add_many(5)
    held = world.claim(session, 5)
    world.clock.advance(1)
    churn(world, session, 500)
    for claim in held:
        assert world.end(claim, Event.RELEASE) == []
    assert sorted(claim.id for claim in world.claim(session)) == sorted(old)


def test_ids_older_than_the_memory_are_found(world: RivalWorld, session: int) -> None:
    """Ids are made by clients, whose clocks may be behind: the smallest id of all is as good as another."""
    world.add_many(100)
    world.claim(session, 50)
    oldest = "00000000-0000-7000-8000-000000000001"
    world.enqueue(world.new_job(id=oldest, at=1))
    assert [claim.id for claim in world.claim(session, 1)] == [oldest]


# A real worker


@pytest.mark.parametrize("notify", ["on", "off"])
def test_idle_worker_starts_a_late_job_within_a_poll_of_its_commit(notify: str) -> None:
    """The transaction is open for long while other jobs come and go."""
    with new_place(shared(18), notify=notify) as place:
        client = place.open()

        async def story() -> None:
            async with working(place.app):
                async with client.atransaction() as tx:
                    job = await client.aenqueue("note", {"number": 1}, conn=tx)
                    opened, number = time.monotonic(), 2
                    while time.monotonic() - opened < OPEN_SECONDS[notify]:
                        other = await client.aenqueue("note", {"number": number})
                        assert await other.aresult(timeout=30) == number
                        number += 1
                    assert place.ran[1] == 0
                async with asyncio.timeout(3):  # A poll, and slack for a busy machine.
                    await until(lambda: place.ran[1], "the job runs")
                assert await job.aresult(timeout=30) == 1

        asyncio.run(story())


# All of it at random, against a model


class Claimer:
    """Carries out claims on a connection of the test's own, in whatever transaction that is in."""

    def __init__(
        self, world: RivalWorld, conn: Connection, session: int, after: Callable[[Statement], None] = lambda _: None
    ) -> None:
        self.world = world
        self.conn = conn
        self.session = session
        self.seen = Seen()
        self.after = after

    def claim(self, limit: int) -> list[p.Claim]:
        self.seen.note(self.world.clock.now_us())  # The test's clock jumps; the server's does not.
        steps = claim_steps(p.ClaimJobs(self.session, limit), self.seen)
        try:
            statement = next(steps)
            while True:
                statement = steps.send(self._execute(statement))
        except StopIteration as end:
            found: p.Claimed = end.value
            return found.jobs

    def _execute(self, statement: Statement) -> Rows:
        name = self.world.schema
        text = in_schema(statement.text, name) if statement.text else sql(statement.name, name)
        given = {**statement.parameters, "now": self.world.clock.now_us(), "channel": "test"}
        cursor = self.conn.execute(text.encode(), given)
        rows: Rows = cursor.fetchall() if cursor.description else []
        self.after(statement)
        return rows


class Memory(RuleBasedStateMachine):
    """Several connections that claim, each with its memory, and several transactions that come and go.

    A model knows what waits. Without anybody holding locks a claim must be told exactly the first of these; with locks,
    only such as wait. The look at everything, which would mend a wrong memory, does not come within a run.
    """

    world: RivalWorld
    session: int
    connections: list[Connection]
    run = 0

    @initialize()
    def begin(self) -> None:
        type(self).run += 1
        world = self.world
        for conn in self.connections:
            conn.rollback()
        world.rows("TRUNCATE waiting, lease, job, outcome, history")
        *self.writers, one, two, three = self.connections
        self.claimers = [Claimer(world, conn, self.session) for conn in (one, two)]
        self.roller = Claimer(world, three, self.session)
        self.written: list[list[tuple[int, int, str]] | None] = [None] * WRITERS
        self.waiting: set[tuple[int, int, str]] = set()
        self.held: dict[int, tuple[int, int, str]] = {}
        self.locked: set[str] | None = None
        self.kept: list[p.Claim] = []

    def teardown(self) -> None:
        if not hasattr(self, "claimers"):
            return
        self.end_roller(False)
        for writer in range(WRITERS):
            self.end_writer(writer, True)
        for claimer in self.claimers:
            self.check(claimer, 3)
        for claimer in self.claimers:
            self.world.clock.advance(1000)
            self.check(claimer, 1000)
            assert not self.waiting

    # Enqueues

    @rule(
        writer=WRITER,
        lane=st.integers(0, 2),
        delay=st.sampled_from([0, 0, 0, 5]),
        old=st.booleans(),
    )
    def enqueue(self, writer: int, lane: int, delay: int, old: bool) -> None:
        conn = self.writers[writer]
        if self.written[writer] is None:
            conn.execute("BEGIN")
            self.written[writer] = []
        at = self.world.clock.now_us() + delay * 1_000_000 - (500_000_000 if old else 0)
        job_id = enqueue_in(self.world, conn, type=f"t{self.run}-{lane}", priority=lane, at=at)
        known = self.written[writer]
        assert known is not None
        known.append((-lane, at, job_id))

    @rule(writer=WRITER, lane=st.integers(0, 2), keep=st.booleans())
    def enqueue_in_savepoint(self, writer: int, lane: int, keep: bool) -> None:
        self.enqueue(writer, lane, 0, False)
        conn, known = self.writers[writer], self.written[writer]
        assert known is not None
        conn.execute("SAVEPOINT here")
        self.enqueue(writer, lane, 0, True)
        conn.execute("RELEASE here" if keep else "ROLLBACK TO here")
        if not keep:
            known.pop()

    @rule(writer=WRITER, commit=st.booleans())
    def end_writer(self, writer: int, commit: bool) -> None:
        known = self.written[writer]
        if known is not None:
            self.writers[writer].execute("COMMIT" if commit else "ROLLBACK")
            self.waiting |= set(known) if commit else set()
            self.written[writer] = None

    # Claims

    @rule(who=st.integers(0, 1), limit=st.sampled_from([1, 2, 3, 100]))
    def claim(self, who: int, limit: int) -> None:
        self.check(self.claimers[who], limit)

    def check(self, claimer: Claimer, limit: int) -> None:
        now = self.world.clock.now_us()
        due = sorted(job for job in self.waiting if job[1] <= now)
        by_id = {job[2]: job for job in due}
        known = {lane.type for lane in claimer.seen.lanes.values()}
        in_order = claimer.seen.upto is None or all(f"t{self.run}-{-job[0]}" in known for job in due)
        found = claimer.claim(limit)
        told = [by_id[claim.id] for claim in found]
        if self.locked is None and in_order:
            assert told == due[:limit]
        elif self.locked is None:
            # Lanes that this connection meets for the first time are asked after the others.
            assert len(told) == len(due[:limit])
        else:
            free = [job for job in due if job[2] not in self.locked]
            assert set(told) <= set(free)
            assert len(told) <= limit
        for claim, job in zip(found, told, strict=True):
            self.waiting.remove(job)
            self.held[claim.token] = job

    @rule(limit=st.sampled_from([1, 3]))
    def claim_and_keep_open(self, limit: int) -> None:
        if self.locked is None:
            self.roller.conn.execute("BEGIN")
            self.roller.seen = Seen()  # What it learns in a transaction that may roll back is not kept.
            found = self.roller.claim(limit)
            self.locked = {claim.id for claim in found}
            self.kept = found

    @rule(commit=st.booleans())
    def end_roller(self, commit: bool) -> None:
        if self.locked is None:
            return
        self.roller.conn.execute("COMMIT" if commit else "ROLLBACK")
        if commit:
            by_id = {job[2]: job for job in self.waiting}
            for claim in self.kept:
                self.waiting.remove(by_id[claim.id])
                self.held[claim.token] = by_id[claim.id]
        self.locked = None

    # What happens to claimed jobs, and time

    @rule(choice=st.randoms(use_true_random=False), release=st.booleans())
    def finish(self, choice: Any, release: bool) -> None:
        if not self.held:
            return
        token = choice.choice(sorted(self.held))
        priority, _, job_id = self.held.pop(token)
        if release:
            ending = p.Unfinished(token=token, event=Event.RELEASE)
            assert self.world.store.finish_jobs(p.FinishJobs(unfinished=[ending])).wait().lost == []
            self.waiting.add((priority, self.world.clock.now_us(), job_id))
        else:
            assert self.world.store.finish_jobs(p.FinishJobs(completed=[p.Completed(token, 1)])).wait().lost == []

    @rule(seconds=st.sampled_from([1, 5]))
    def pass_time(self, seconds: int) -> None:
        self.world.clock.advance(seconds)


@pytest.mark.parametrize(("lanes", "flood"), [(seen.LANES_MIN, claims.FLOOD), (1, 4)])
def test_memory_of_claims_against_a_model(
    world: RivalWorld, session: int, lanes: int, flood: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limits as they are, and so small that every other claim meets them."""
    monkeypatch.setattr(seen, "LANES_MIN", lanes)
    monkeypatch.setattr(claims, "FLOOD", flood)
    connections = [world.connect() for _ in range(WRITERS + 3)]
    machine = type("Machine", (Memory,), {"world": world, "session": session, "connections": connections})
    often = settings(
        max_examples=EXAMPLES,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    try:
        run_state_machine_as_test(machine, settings=often)
    finally:
        for conn in connections:
            conn.close()
