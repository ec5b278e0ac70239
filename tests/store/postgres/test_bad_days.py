"""What goes wrong with servers, roles and tables in production: a clear error or a clean recovery, and nothing lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from penstock import App
from penstock.domain.errors import (
    StoreBusy,
    StoreReadOnly,
    StoreUnavailable,
    StoreVersionError,
)
from penstock.store.postgres.connection import link
from penstock.store.postgres.connection.statements import migrations
from tests.postgres.private import free_port
from tests.postgres.processes import wait_until
from tests.postgres.server import Server, shared
from tests.store.postgres.trouble import Place, all_final, enqueue_surely, new_place, until, working

pytestmark = pytest.mark.turns

LATEST = migrations("penstock")[-1][0]
JOBS = 200


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that the tests of this module may stop and start."""
    with Server(18) as server:
        yield server


@pytest.fixture
def place(own_server: Server) -> Iterator[Place]:
    with new_place(own_server) as place:
        yield place


@pytest.fixture
def calm() -> Iterator[Place]:
    """A place on the server that nobody stops."""
    with new_place(shared(18)) as place:
        yield place


# The server is not there, goes, and comes back


def test_server_down_at_start_is_said_with_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "PATIENCE_SECONDS", 0.1)
    app = App(f"postgresql://postgres@127.0.0.1:{free_port()}/postgres")
    with pytest.raises(StoreUnavailable, match=r"postgresql://postgres@127.0.0.1:\d+/postgres: .*is it running"):
        app.enqueue("note", {"number": 1})
    app.close()


def test_server_that_is_just_starting_is_waited_for(place: Place) -> None:
    place.app.store.migrate()
    place.server.stop()
    starting = threading.Timer(0.5, place.server.start)
    starting.start()
    try:
        assert place.open().enqueue("note", {"number": 1}).created
    finally:
        starting.join()


def test_idle_connections_are_replaced_silently_after_a_restart(place: Place) -> None:
    gate = threading.Barrier(3)

    def enqueue(number: int) -> None:
        gate.wait(30)
        with place.app.transaction() as tx:
            gate.wait(30)
            place.app.enqueue("note", {"number": number}, conn=tx)

    threads = [threading.Thread(target=enqueue, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    job = place.app.enqueue("note", {"number": 3})
    assert len(place.backends("state = 'idle'")) >= 4
    place.server.restart()
    assert job.read().payload == {"number": 3}
    assert place.app.enqueue("note", {"number": 4}).created
    with place.app.transaction() as tx:
        place.app.enqueue("note", {"number": 5}, conn=tx)
    assert place.counts["waiting"] == 6


def test_killed_idle_connections_are_replaced_silently(place: Place) -> None:
    place.app.enqueue("note", {"number": 0})
    for number in range(1, 20):
        assert place.kill() >= 1
        assert place.app.enqueue("note", {"number": number}).created
    assert place.counts["waiting"] == 20


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
def test_worker_and_client_ride_out_a_restart(place: Place, mode: Any) -> None:
    client = place.open()

    def restart() -> None:
        if mode == "kill":
            place.server.kill()
            place.server.start()
        else:
            place.server.restart(mode)

    async def story() -> None:
        ids = [client.client.new_id() for _ in range(JOBS)]
        async with working(place.app, concurrency=10):
            jobs = [await enqueue_surely(client, number, ids[number]) for number in range(JOBS // 2)]
            await until(lambda: len(place.ran) > 10, "the worker is at work")
            restarting = asyncio.create_task(asyncio.to_thread(restart))
            jobs += [await enqueue_surely(client, number, ids[number]) for number in range(JOBS // 2, JOBS)]
            await restarting
            ended = await all_final(jobs)
        # A crash of the server may forget that a job was claimed, but never that it was enqueued or that it ended.
        assert {job.state.value for job in ended} == {"completed"}
        assert {job.attempt for job in ended} == {1}

    asyncio.run(story())
    assert place.counts == {"waiting": 0, "lease": 0, "outcome": JOBS, "job": JOBS}
    assert set(place.ran) == set(range(JOBS))


def test_worker_waits_out_a_failover_to_a_server_that_is_read_only(place: Place) -> None:
    client = place.open()

    async def story() -> None:
        async with working(place.app) as worker:
            first = await client.aenqueue("note", {"number": 1})
            assert await first.aresult(timeout=30) == 1
            await asyncio.to_thread(place.server.demote)
            with pytest.raises(StoreUnavailable, match=r"read-only.*target_session_attrs=read-write"):
                await client.aenqueue("note", {"number": 2})
            with pytest.raises(StoreUnavailable, match="read-only"):
                await asyncio.to_thread(client.enqueue, "note", {"number": 2})
            assert (await first.aread()).result == 1
            await asyncio.to_thread(place.server.promote)
            second = await client.aenqueue("note", {"number": 2})
            assert await second.aresult(timeout=30) == 2
            assert not worker.done()

    try:
        asyncio.run(story())
    finally:
        place.server.restart()
    assert place.ran == {1: 1, 2: 1}


# Rights, versions, encodings


def test_role_without_rights_is_told_which_command_prints_them(calm: Place) -> None:
    calm.app.store.migrate()
    role = f"role_{calm.schema}"
    calm.rows(f"CREATE ROLE {role} LOGIN")
    poor = App(calm.url().replace("postgres@", f"{role}@"))

    @poor.job(name="note")
    async def note(number: int) -> int:
        return number

    try:
        with pytest.raises(StoreReadOnly, match="penstock migrate --grants"):
            poor.enqueue("note", {"number": 1})
        with pytest.raises(StoreReadOnly, match="penstock migrate --grants"):
            asyncio.run(poor.run_worker(burst=True))
    finally:
        poor.close()
        calm.rows(f"DROP ROLE {role}")


def test_older_store_is_refused_until_it_is_migrated(calm: Place) -> None:
    calm.app.store.migrate()
    calm.rows(f"UPDATE meta SET value = {LATEST - 1} WHERE key = 'schema_version'")
    if LATEST == 1:  # A store of version 0 is one that does not exist yet: what is there is in the way.
        calm.rows("UPDATE meta SET value = -1 WHERE key = 'schema_version'")
    with pytest.raises(StoreVersionError, match=rf"needs {LATEST}; run: penstock migrate"):
        calm.open().enqueue("note", {"number": 1})


def test_newer_store_that_has_left_this_version_behind_is_refused(calm: Place) -> None:
    calm.app.store.migrate()
    calm.rows(f"UPDATE meta SET value = {LATEST + 2} WHERE key = 'schema_version'")
    calm.rows(f"UPDATE meta SET value = {LATEST + 1} WHERE key = 'oldest'")
    with pytest.raises(StoreVersionError, match=rf"knows {LATEST}: upgrade penstock"):
        calm.open().enqueue("note", {"number": 1})


def test_newer_store_that_still_knows_this_version_works(calm: Place) -> None:
    calm.app.store.migrate()
    calm.rows(f"UPDATE meta SET value = {LATEST + 2} WHERE key = 'schema_version'")
    app = calm.open()
    job = app.enqueue("note", {"number": 1})
    asyncio.run(app.run_worker(burst=True))
    assert job.result(timeout=30) == 1


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_server_that_cannot_hold_every_payload_is_refused(encoding: str) -> None:
    with Server(18, encoding=encoding) as server:
        app = App(server.url())
        with pytest.raises(StoreVersionError, match=rf"encoding {encoding}, .* createdb -E UTF8 -T template0"):
            app.enqueue("note", {"number": 1})
        with pytest.raises(StoreVersionError, match="createdb -E UTF8"):
            asyncio.run(app.aenqueue("note", {"number": 1}))
        app.close()


def test_server_that_is_too_old_is_refused(calm: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "VERSION_MIN", 99)
    app = calm.open()
    with pytest.raises(
        StoreVersionError, match=r"the server is PostgreSQL \d+; penstock needs 99 or newer: upgrade it"
    ):
        app.enqueue("note", {"number": 1})


def test_client_encoding_of_the_role_does_not_matter(calm: Place) -> None:
    role = f"role_{calm.schema}"
    calm.app.store.migrate()
    calm.rows(f"CREATE ROLE {role} LOGIN SUPERUSER")
    calm.rows(f"ALTER ROLE {role} SET client_encoding = 'LATIN1'")
    app = App(calm.url().replace("postgres@", f"{role}@"))
    try:
        assert app.enqueue("other", {"text": "☃"}).read().payload == {"text": "☃"}
    finally:
        app.close()
        calm.rows(f"DROP ROLE {role}")


# No connection left


def test_connection_limit_of_the_server_is_said_and_passes(calm: Place) -> None:
    role = f"role_{calm.schema}"
    calm.app.store.migrate()
    # A limit of the role instead of max_connections: the same error, without taking all connections of the server.
    calm.rows(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
    calm.rows(f"GRANT USAGE ON SCHEMA {calm.schema} TO {role}")
    calm.rows(f"GRANT ALL ON ALL TABLES IN SCHEMA {calm.schema} TO {role}")
    url = calm.url().replace("postgres@", f"{role}@")
    app = App(url)
    plain = calm.server.url().replace("postgres@", f"{role}@")
    try:
        with psycopg.connect(plain), psycopg.connect(plain):
            with pytest.raises(StoreUnavailable, match=r"no connection left.*max_connections"):
                app.enqueue("note", {"number": 1})
            with pytest.raises(StoreUnavailable, match=r"no connection left.*max_connections"):
                asyncio.run(app.aenqueue("note", {"number": 1}))
        wait_until(lambda: not calm.backends(f"usename = '{role}'"), "the others have left")
        assert app.enqueue("note", {"number": 2}).created
    finally:
        app.close()
        calm.rows(f"DROP OWNED BY {role}")
        calm.rows(f"DROP ROLE {role}")


def test_max_connections_reached_under_a_worker() -> None:
    """The worker has lost its connections and gets no others for a while: it waits, and finishes all jobs."""
    settings = {"max_connections": "14", "superuser_reserved_connections": "1", "max_wal_senders": "0"}
    with Server(18, settings=settings) as server, new_place(server) as place:
        place.app.store.migrate()
        place.rows("CREATE ROLE guest LOGIN")
        client = place.open()

        async def story() -> None:
            async with working(place.app) as worker:
                first = await client.aenqueue("note", {"number": 1})
                assert await first.aresult(timeout=30) == 1
                with ExitStack() as others:
                    await asyncio.to_thread(place.kill)
                    guest = server.url(user="guest")
                    try:
                        while True:
                            others.enter_context(await asyncio.to_thread(lambda: psycopg.connect(guest)))
                            await asyncio.to_thread(place.kill, "pid <> pg_backend_pid()")
                    except psycopg.OperationalError:
                        pass
                second = await enqueue_surely(client, 2, client.client.new_id())
                await all_final([second])
                assert not worker.done()

        asyncio.run(story())
        assert place.ran == {1: 1, 2: 1}


def test_pool_exhausted_by_transactions_names_the_option(own_server: Server) -> None:
    with new_place(own_server, pool="2", timeout="200ms") as place:
        with ExitStack() as held:
            first = held.enter_context(place.app.transaction())
            held.enter_context(place.app.transaction())
            with pytest.raises(StoreBusy, match=r"all 2 connections .*\?pool=N"):
                held.enter_context(place.app.transaction())
            # Those who hold transactions need no third connection for what they do meanwhile.
            place.app.enqueue("note", {"number": 1}, conn=first)
            assert place.app.enqueue("note", {"number": 2}).created
        with place.app.transaction() as tx:
            place.app.enqueue("note", {"number": 3}, conn=tx)
        assert place.counts["waiting"] == 3


def test_pool_exhausted_by_plain_calls_is_waited_for(own_server: Server) -> None:
    with new_place(own_server, pool="2") as place:
        place.app.store.migrate()
        threads = [
            threading.Thread(target=place.app.enqueue, args=("note", {"number": number})) for number in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert place.counts["waiting"] == 20
        assert len(place.backends()) <= 2


# Tables that change under the program


def test_statement_whose_plan_aged_by_a_migration_is_done_again(calm: Place) -> None:
    """The type of an answer changes between two uses of a prepared statement on one connection."""
    client = calm.open()

    async def story() -> None:
        async with working(calm.app) as worker:
            first = await client.aenqueue("note", {"number": 1})
            assert await first.aresult(timeout=30) == 1
            await asyncio.to_thread(calm.rows, "ALTER TABLE job ALTER attempt TYPE bigint, ALTER payload TYPE varchar")
            await asyncio.to_thread(calm.rows, "ALTER TABLE outcome ALTER state TYPE integer, ADD later text")
            for number in range(2, 6):
                job = await client.aenqueue("note", {"number": number})
                assert await job.aresult(timeout=30) == number
            assert (await first.aread()).attempt == 1
            assert not worker.done()

    asyncio.run(story())
    assert calm.ran == dict.fromkeys(range(1, 6), 1)


def test_plain_code_too_recovers_from_an_aged_plan(calm: Place) -> None:
    job = calm.app.enqueue("note", {"number": 1})
    assert job.read().attempt == 0
    calm.rows("ALTER TABLE job ALTER attempt TYPE bigint")
    assert job.read().attempt == 0


def test_column_dropped_by_hand_stops_the_worker_and_loses_nothing(calm: Place) -> None:
    client = calm.open()

    async def story() -> None:
        async with working(calm.app) as worker:
            first = await client.aenqueue("note", {"number": 1})
            assert await first.aresult(timeout=30) == 1
            await asyncio.to_thread(calm.rows, "ALTER TABLE outcome DROP started_at")
            await client.aenqueue("note", {"number": 2})
            with pytest.raises(StoreVersionError, match=r"column is missing.*started_at"):
                await asyncio.wait_for(asyncio.shield(worker), 30)

    asyncio.run(story())
    calm.rows("ALTER TABLE outcome ADD started_at bigint")
    assert calm.counts["job"] == 2
    assert calm.counts["waiting"] + calm.counts["lease"] == 1


# Clocks

SHIFTED = """
import asyncio, sys, time
shift = float(sys.argv[2])
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + shift
time.time_ns = lambda: real_ns() + int(shift * 1e9)
from penstock import App
app = App(sys.argv[1])

@app.job(name="note", attempts=1)
async def note(number: int) -> int:
    print(number, flush=True)
    return number

@app.job(name="held", attempts=2)
async def held() -> str:
    print("held", flush=True)
    await asyncio.sleep(3600)
    return ""

asyncio.run(app.run_worker(heartbeat_interval=0.3, recovery_interval=0.2, leader_lease=0.5))
"""


@pytest.mark.parametrize("shift", [3600, -3600])
def test_worker_whose_clock_is_an_hour_off(calm: Place, shift: int) -> None:
    """Everything is judged by the server's clock: such a worker loses nothing, and is not taken for dead."""
    calm.app.store.migrate()
    off = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SHIFTED), calm.url(), str(shift)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    said = off.stdout
    assert said is not None

    async def story() -> None:
        early = [await calm.app.aenqueue("note", {"number": number}) for number in range(50)]
        done = [await job.aresult(timeout=30) for job in early]
        assert done == list(range(50))
        assert {await asyncio.to_thread(said.readline) for _ in range(50)} == {f"{n}\n" for n in range(50)}
        late = await calm.app.aenqueue("note", {"number": 50}, delay=3000)
        soon = await calm.app.aenqueue("note", {"number": 51}, delay=0.2)
        assert await soon.aresult(timeout=30) == 51
        held = await calm.app.aenqueue("held", queue="default")
        assert (await asyncio.to_thread(said.readline)) == "51\n"
        assert (await asyncio.to_thread(said.readline)) == "held\n"
        async with working(calm.app, types=("note",)):
            # Both watch each other for several staleness periods by the time of the server.
            ticks = calm.rows("SELECT max(heartbeat_at) FROM worker")[0][0]
            await until(
                lambda: (
                    calm.rows("SELECT min(heartbeat_at) FROM worker WHERE status = 'active'")[0][0] > ticks + 3_000_000
                ),
                "both were heard of for seconds",
            )
            assert [row for (row,) in calm.rows("SELECT DISTINCT status FROM worker")] == ["active"]
            off.kill()
            off.wait()
            await until(lambda: calm.counts["lease"] == 0, "the job of the killed worker is recovered")
            recovered = await held.aread()
            assert (recovered.crashes, recovered.state.value) in ((1, "scheduled"), (1, "pending"))
        assert (await late.astate()).value == "scheduled"
        first = await early[0].aread()
        assert first.created_at <= first.claimed_at <= first.started_at <= first.finished_at  # type: ignore[operator]
        assert [row for (row,) in calm.rows("SELECT count(*) FROM worker WHERE status = 'lost'")] == [1]

    try:
        asyncio.run(story())
    finally:
        off.kill()
        off.wait()
        said.close()
    assert calm.ran == {}
