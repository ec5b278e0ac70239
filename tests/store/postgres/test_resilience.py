"""Connections that die, fall silent or lose an answer, and transactions that collide: every job ends exactly once."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Tenant, Unique
from penstock.domain.errors import EnqueueUncertain, StoreError, StoreUnavailable
from penstock.domain.job import Event, State
from penstock.store import contract as p
from penstock.store.postgres.connection import link, loop_pool
from tests.postgres.processes import wait_until
from tests.postgres.proxy import Proxy
from tests.postgres.server import shared
from tests.store.postgres.trouble import Place, all_final, enqueue_surely, new_job, new_place, until, within, working

pytestmark = pytest.mark.turns

JOBS = 2000
KILLS = 60
LIMIT = "1s"
POOL = 10


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place(shared(18)) as place:
        place.app.store.migrate()
        yield place


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(shared(18).port) as proxy:
        yield proxy


@pytest.fixture
def far(proxy: Proxy) -> Iterator[Place]:
    """A place whose app reaches the server by way of the proxy, and waits for one second."""
    with new_place(shared(18), proxy.port, timeout=LIMIT) as place:
        place.app.store.migrate()
        yield place


def register(place: Place, worker_id: str = "worker") -> p.RegisterWorker:
    return p.RegisterWorker(worker_id=worker_id, host="host", pid=1, version="1", slots=10, stale_after=30.0)


async def prepared(place: Place, session: int) -> list[p.Claim]:
    """Claim until the statement is prepared for every kind of parameters: then a claim is one question."""
    found: list[p.Claim] = []
    for _ in range(4):
        found += (await place.app.store.claim_jobs(p.ClaimJobs(session, 10))).jobs
    return found


# Backends killed at random


def test_backends_killed_at_random_lose_nothing_and_leak_nothing(place: Place) -> None:
    client = place.open()
    place.pause = 0.02
    over = threading.Event()
    dice = random.Random(4)
    killed = 0

    def kill_some() -> None:
        nonlocal killed
        while killed < KILLS and not over.wait(0.03):
            found = place.backends()
            if found:
                killed += place.kill(f"pid = {dice.choice(found)}")

    async def story() -> None:
        ids = [client.client.new_id() for _ in range(JOBS)]
        killing: asyncio.Task[None] | None = None
        try:
            async with working(place.app, concurrency=20) as worker:
                # One that cannot begin ends, for its supervisor to start it again; from here on it must not.
                await until(lambda: place.rows("SELECT count(*) FROM worker") == [(1,)], "the worker has begun")
                killing = asyncio.create_task(asyncio.to_thread(kill_some))
                stored: list[Any] = []
                for start in range(0, JOBS, 10):
                    numbers = range(start, start + 10)
                    stored += await asyncio.gather(*(enqueue_surely(client, number, ids[number]) for number in numbers))
                await until(lambda: place.counts["outcome"] == JOBS, "all jobs have ended")
                assert not worker.done()
                over.set()
                await killing
                after = await client.aenqueue("note", {"number": JOBS})
                assert await after.aresult(timeout=30) == JOBS
                bound = 2 * (sum(loop_pool.LINKS.values()) + POOL) + 1
                await until(lambda: len(place.backends()) <= bound, "no connection is left behind")
        finally:
            over.set()
            if killing is not None:
                await killing

    asyncio.run(story())
    assert killed > KILLS // 2
    assert place.counts == {"waiting": 0, "lease": 0, "outcome": JOBS + 1, "job": JOBS + 1}
    assert place.rows("SELECT DISTINCT state, attempt FROM outcome") == [(1, 1)]
    assert place.ran == dict.fromkeys(range(JOBS + 1), 1)
    place.close()
    wait_until(lambda: not place.backends(), "a closed store keeps no connection")


# The answer to a commit is lost


@pytest.mark.parametrize("plain", [True, False])
def test_lost_answer_to_an_enqueue_is_said_and_the_same_id_makes_one_job(far: Place, proxy: Proxy, plain: bool) -> None:
    def enqueue(**options: Any) -> Any:
        return far.app.enqueue("note", {"number": 1}, **options)

    async def aenqueue(**options: Any) -> Any:
        return await far.app.aenqueue("note", {"number": 1}, **options)

    async def story() -> None:
        async def once(**options: Any) -> Any:
            return await (asyncio.to_thread(enqueue, **options) if plain else aenqueue(**options))

        await once()
        proxy.drop_answers()
        with pytest.raises(EnqueueUncertain) as caught:
            await asyncio.wait_for(once(), 30)
        proxy.heal()
        (job_id,) = caught.value.ids
        assert job_id in str(caught.value)
        again = await once(id=job_id)
        assert (again.id, again.created) == (job_id, False)

    asyncio.run(story())
    assert far.counts["job"] == 2


def test_lost_answer_to_the_commit_of_several_statements_is_said_too(proxy: Proxy) -> None:
    """Held up in the midst of the commit by a trigger, so that it is the commit whose answer is lost."""
    with new_place(shared(18), proxy.port, timeout="2s") as far:
        far.app.enqueue("note", {"number": 1}, unique=Unique("first"))
        far.rows(
            """
            CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$
            """
        )
        far.rows(
            "CREATE CONSTRAINT TRIGGER hold_up AFTER INSERT ON job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
            f"EXECUTE FUNCTION {far.schema}.hold_up()"
        )
        with far.server.connect() as holder, ThreadPoolExecutor(1) as pool:
            holder.execute("SELECT pg_advisory_lock(4711)")
            asked = pool.submit(far.app.enqueue, "note", {"number": 2}, unique=Unique("second"))
            wait_until(lambda: bool(far.backends("wait_event = 'advisory'")), "the commit waits")
            proxy.drop_answers()
            holder.execute("SELECT pg_advisory_unlock(4711)")
            with pytest.raises(EnqueueUncertain) as caught:
                asked.result(30)
        proxy.heal()
        (job_id,) = caught.value.ids
        again = far.app.enqueue("note", {"number": 2}, unique=Unique("second"), id=job_id)
        assert (again.id, again.created) == (job_id, False)
        assert far.counts["job"] == 2


def test_what_a_claim_took_without_being_able_to_say_so_is_given_back(far: Place, proxy: Proxy) -> None:
    near = far.open()
    store = far.app.store

    async def story() -> None:
        session = (await store.register_worker(register(far))).session
        known = await near.aenqueue("note", {"number": 0})
        (held,) = await prepared(far, session)
        jobs = [await near.aenqueue("note", {"number": number}) for number in range(1, 6)]
        proxy.drop_answers()
        with pytest.raises(StoreUnavailable):
            await within(store.claim_jobs(p.ClaimJobs(session, 10)))
        assert far.counts["lease"] == 6
        proxy.heal()
        again = (await store.claim_jobs(p.ClaimJobs(session, 10))).jobs
        assert [claim.id for claim in again] == [job.id for job in jobs]
        assert {claim.attempt for claim in again} == {1}
        done = [p.Completed(claim.token, 1) for claim in (held, *again)]
        assert (await store.finish_jobs(p.FinishJobs(completed=done))).lost == []
        assert [step.event for step in await store.read_history(jobs[0].id)].count(Event.RELEASE) == 1
        assert Event.RELEASE not in [step.event for step in await store.read_history(known.id)]

    asyncio.run(story())
    assert far.counts == {"waiting": 0, "lease": 0, "outcome": 6, "job": 6}


def test_what_became_of_the_jobs_of_an_unheard_claim_is_told_by_the_next(far: Place, proxy: Proxy) -> None:
    """One that was cancelled meanwhile has ended, and nobody else would hear of it."""
    near = far.open()
    store = far.app.store

    async def story() -> None:
        session = (await store.register_worker(register(far))).session
        await near.aenqueue("note", {"number": 0})
        await prepared(far, session)
        jobs = [await near.aenqueue("note", {"number": number}) for number in range(1, 4)]
        proxy.drop_answers()
        with pytest.raises(StoreUnavailable):
            await within(store.claim_jobs(p.ClaimJobs(session, 10)))
        await far.open().store.cancel_job(p.CancelJob(jobs[0].id))
        proxy.heal()
        claimed = await store.claim_jobs(p.ClaimJobs(session, 10))
        assert [claim.id for claim in claimed.jobs] == [job.id for job in jobs[1:]]
        told = {one.id: (one.event, one.state, one.worker) for one in claimed.happened}
        worker = "worker"
        assert told == {
            jobs[0].id: (Event.CANCEL, State.CANCELLED, worker),
            **{job.id: (Event.RELEASE, State.PENDING, worker) for job in jobs[1:]},
        }

    asyncio.run(story())


def test_what_the_worker_knows_of_is_not_given_back_in_whatever_order_it_came(far: Place, proxy: Proxy) -> None:
    near = far.open()
    store = far.app.store

    async def story() -> None:
        session = (await store.register_worker(register(far))).session
        for tenant, count in (("a", 10), ("b", 5)):
            for number in range(count):
                await near.aenqueue("note", {"number": number}, tenant=Tenant(tenant))
        held = (await store.claim_jobs(p.ClaimJobs(session, 5))).jobs
        assert held[-1].token < max(claim.token for claim in held), "the newest token is not the last"
        await asyncio.to_thread(proxy.drop_answers)
        with pytest.raises(StoreUnavailable):
            await within(store.claim_jobs(p.ClaimJobs(session, 5)))
        await asyncio.to_thread(proxy.heal)
        others = (await store.claim_jobs(p.ClaimJobs(session, 10))).jobs
        assert not {claim.id for claim in held} & {claim.id for claim in others}
        done = [p.Completed(claim.token, 1) for claim in (*held, *others)]
        assert (await store.finish_jobs(p.FinishJobs(completed=done))).lost == []

    asyncio.run(story())


def test_claims_at_once_of_one_worker_do_not_hide_what_one_of_them_lost(far: Place, proxy: Proxy) -> None:
    """A worker with several kinds of handlers claims for each of them, side by side, in one session."""
    near = far.open()
    store = far.app.store

    async def story() -> None:
        session = (await store.register_worker(register(far))).session
        await near.aenqueue("note", {"number": -1})
        await prepared(far, session)
        jobs = [await near.aenqueue("note", {"number": number}) for number in range(10)]
        proxy.drop_answers()
        losing = asyncio.ensure_future(within(store.claim_jobs(p.ClaimJobs(session, 4))))
        waiting = asyncio.ensure_future(within(store.claim_jobs(p.ClaimJobs(session, 4))))
        await asyncio.to_thread(proxy.wait_for_dropped_answer)
        assert (await asyncio.to_thread(lambda: far.counts))["lease"] == 1 + 4
        await asyncio.to_thread(proxy.heal)
        with pytest.raises(StoreUnavailable):
            await losing
        told = [claim.id for claim in (await waiting).jobs]
        while found := (await within(store.claim_jobs(p.ClaimJobs(session, 4)))).jobs:
            told += [claim.id for claim in found]
        assert sorted(told) == sorted(job.id for job in jobs)

    asyncio.run(story())


def test_claim_that_fails_after_its_first_statement_gives_back_what_that_took(place: Place) -> None:
    """A claim looks a second time if there may be more; what the first look took must not be forgotten."""
    store = place.app.store

    async def story() -> None:
        session = (await store.register_worker(register(place))).session
        await store.claim_jobs(p.ClaimJobs(session, 10))
        # Two types, the second of which this connection has not seen yet: the claim looks at the lanes and again.
        first = await place.app.aenqueue("note", {"number": 1})
        await store.claim_jobs(p.ClaimJobs(session, 10))
        jobs = [
            await place.app.aenqueue("note", {"number": 2}),
            await place.app.aenqueue("note", {"number": 3}, priority=5),
        ]
        await asyncio.to_thread(
            place.rows,
            f"""
            CREATE SEQUENCE tries;
            CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('{place.schema}.tries') = 2 THEN RAISE EXCEPTION 'collision' USING ERRCODE = '40P01'; END IF;
            RETURN NEW; END $$;
            CREATE TRIGGER fail_once BEFORE INSERT ON lease FOR EACH ROW EXECUTE FUNCTION {place.schema}.fail_once()
            """,
        )
        told: list[str] = []
        for _ in range(4):
            try:
                told += [claim.id for claim in (await store.claim_jobs(p.ClaimJobs(session, 10))).jobs]
            except StoreError:
                pass
        assert sorted(told) == sorted(job.id for job in jobs)
        assert first.id not in told

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["drop_answers", "black_hole"])
def test_worker_whose_claims_and_finishes_lose_their_answers_runs_each_job_once(
    far: Place, proxy: Proxy, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    near = far.open()
    gate = asyncio.Event()

    @far.app.job(name="gated", attempts=1)
    async def gated() -> str:
        far.ran[-1] += 1
        await gate.wait()
        return "through"

    async def story() -> None:
        # However long the outage lasts here, nobody declares it lost meanwhile.
        async with working(far.app, concurrency=5, recovery_interval=3600.0, leader_lease=3600.0) as worker:
            running = await near.aenqueue("gated")
            await until(lambda: far.ran[-1] == 1, "the first job runs")
            await asyncio.to_thread(getattr(proxy, kind))
            gate.set()
            jobs = [await near.aenqueue("note", {"number": number}) for number in range(20)]
            await until(lambda: "could not claim" in caplog.text and "not stored yet" in caplog.text, "it noticed both")
            await until(lambda: "heartbeat not stored" in caplog.text, "the heartbeat noticed too")
            await asyncio.to_thread(proxy.heal)
            ended = await all_final([running, *jobs])
            assert not worker.done()
            assert [job.state.value for job in ended] == ["completed"] * 21
            assert {job.attempt for job in ended} == {1}
            beat = far.rows("SELECT heartbeat_at FROM worker")
            await until(lambda: far.rows("SELECT heartbeat_at FROM worker") > beat, "the heart beats again")

    with caplog.at_level(logging.DEBUG, "penstock.worker"):
        asyncio.run(story())
    loud = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sum("trying again" in line and "notifications" not in line for line in loud) == 1
    assert sum("the store is well again" in line and "outcomes of " in line for line in loud) == 1
    assert far.ran == {-1: 1, **dict.fromkeys(range(20), 1)}
    assert " lost: " not in caplog.text
    assert far.rows("SELECT count(*) FROM worker") == [(1,)]


@pytest.mark.parametrize("alone", [True, False], ids=["coordinator", "worker"])
def test_an_outage_is_told_once_by_whoever_leads(
    far: Place, proxy: Proxy, alone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    brisk = {"heartbeat_interval": 0.3, "recovery_interval": 0.1, "schedule_interval": 0.1, "leader_lease": 10.0}
    parts = ["heartbeat not stored", "could not ask who leads", "could not fire schedules"]
    parts.append("could not read orders" if alone else "could not claim")

    async def story() -> None:
        running = asyncio.ensure_future(far.app.run_coordinator(**brisk) if alone else far.app.run_worker(**brisk))
        await until(lambda: " leads, term 1" in caplog.text, "it leads")
        await asyncio.to_thread(proxy.refuse)
        await asyncio.to_thread(proxy.cut)
        await until(lambda: all(part in caplog.text for part in parts), "all parts have met it")
        await asyncio.to_thread(proxy.heal)
        await until(lambda: "the store is well again" in caplog.text, "it is over")
        running.cancel()
        await asyncio.wait({running})

    with caplog.at_level(logging.DEBUG, "penstock"):
        asyncio.run(story())
    loud = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    loud = [line for line in loud if "notifications" not in line]
    assert [("trying again" in line, "the store is well again" in line) for line in loud] == [
        (True, False), (False, True)
    ], loud  # fmt: skip


# Silence


def _calls(place: Place, session: int) -> dict[str, Callable[[], Any]]:
    store = place.app.store
    return {
        "enqueue": lambda: store.enqueue_jobs(p.EnqueueJobs([new_job(place)])),
        "unique enqueue": lambda: store.enqueue_jobs(
            p.EnqueueJobs([new_job(place, unique=Unique(place.app.client.new_id()))])
        ),
        "claim": lambda: store.claim_jobs(p.ClaimJobs(session, 1)),
        "heartbeat": lambda: store.heartbeat_worker(p.HeartbeatWorker(session, "active")),
        "finish": lambda: store.finish_jobs(p.FinishJobs(completed=[p.Completed(1, 1)])),
        "read": lambda: store.read_job(place.app.client.new_id()),
        "recover": lambda: store.recover_jobs(p.RecoverJobs(30.0)),
    }


NAMES = ["enqueue", "unique enqueue", "claim", "heartbeat", "finish", "read", "recover"]


def test_silent_server_is_an_error_in_plain_code_and_then_all_goes_on(
    far: Place, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    _connect_briefly(monkeypatch)
    calls = _calls(far, far.app.store.register_worker(register(far)).wait().session)
    for call in calls.values():
        call().wait()
    proxy.black_hole()
    with ThreadPoolExecutor(len(NAMES)) as pool:
        asked = [pool.submit(lambda call: call().wait(), calls[name]) for name in NAMES]
        for one in asked:
            assert isinstance(one.exception(30), StoreError)
    proxy.heal()
    for call in calls.values():
        call().wait()


def test_silent_server_is_an_error_in_async_code_and_then_all_goes_on(
    far: Place, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    _connect_briefly(monkeypatch)

    async def story() -> None:
        calls = _calls(far, (await far.app.store.register_worker(register(far))).session)
        for call in calls.values():
            await call()
        proxy.black_hole()
        errors = await asyncio.gather(*(within(calls[name]()) for name in NAMES), return_exceptions=True)
        assert [error for error in errors if not isinstance(error, StoreError)] == []
        await asyncio.to_thread(proxy.heal)
        for call in calls.values():
            await within(call())

    asyncio.run(story())


@pytest.mark.parametrize("plain", [True, False])
def test_server_that_falls_silent_while_a_connection_is_made(
    far: Place, proxy: Proxy, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login is done and the first question stays without an answer."""
    _connect_briefly(monkeypatch)
    monkeypatch.setattr(link, "PATIENCE_SECONDS", 0.0)
    far.app.enqueue("note", {"number": 1})
    app = far.open(proxy.port)
    greet = link.HELLO.replace("SELECT pg_backend_pid()", "SELECT pg_sleep(600), pg_backend_pid()")
    for module in ("pool", "loop_pool"):
        monkeypatch.setattr(f"penstock.store.postgres.connection.{module}.HELLO", greet)

    def enqueue() -> Any:
        call = app.store.enqueue_jobs(p.EnqueueJobs([new_job(far)]))
        return call.wait() if plain else asyncio.run(within(call))

    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(enqueue).exception(30), StoreError)


def test_caller_whose_transaction_falls_silent_gets_an_error(far: Place, proxy: Proxy) -> None:
    with far.app.transaction() as tx:
        far.app.enqueue("note", {"number": 1}, conn=tx)

    def begin() -> None:
        with far.app.transaction():
            pass

    proxy.black_hole()
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(begin).exception(30), StoreError)
    proxy.heal()
    begin()


def _connect_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(link.TCP, "connect_timeout", 2)
    for module in ("link", "pool", "loop_pool"):
        monkeypatch.setattr(f"penstock.store.postgres.connection.{module}.CONNECT_SECONDS", 1)
