"""What cannot be passed as conn=, or not like that, is told with what to do; and nobody's library is imported."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

from penstock.domain.errors import UsageError
from penstock.domain.options import Unique
from penstock.store.contract import Enqueued
from penstock.store.postgres.callers.guest_kinds import accept, in_dollars
from tests.store.postgres.callers import KINDS, opened
from tests.store.postgres.places import Place, new_job, new_place


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


@pytest.mark.parametrize("thing", ["postgresql://host/db", 7, object(), sqlalchemy.create_engine("sqlite://")])
def test_what_is_no_connection_is_refused(thing: object) -> None:
    with pytest.raises(UsageError, match=r"cannot be used; what can be passed: a connection of psycopg, .*SQLAlchemy"):
        accept(thing)


def test_a_class_of_the_same_name_is_not_the_drivers() -> None:
    class Connection:
        pass

    with pytest.raises(UsageError, match=r"conn=tests\..*Connection cannot be used"):
        accept(Connection())


def test_a_subclass_of_a_drivers_connection_is_accepted(place: Place) -> None:
    class MyConnection(psycopg.Connection[tuple[object, ...]]):
        pass

    with MyConnection.connect(place.url) as conn:
        job = new_job()
        assert place.enqueue(conn, job).wait() == [Enqueued(job.id, True)]


def test_no_driver_is_imported_to_find_out() -> None:
    code = (
        "import sys, penstock.store.postgres.callers.guest_kinds as kinds\n"
        "try: kinds.accept(object())\n"
        "except Exception as error: print(type(error).__name__)\n"
        "print(*({'psycopg', 'psycopg2', 'asyncpg', 'sqlalchemy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["UsageError"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "sync" in kind])
def test_plain_code_with_an_async_connection_is_told(kind: str, place: Place) -> None:
    async def play() -> None:
        async with opened[kind](place.url, False) as caller:
            assert caller.asynchronous
            with pytest.raises(UsageError, match=r"is a connection of async code: use `await` and aenqueue\(\)"):
                place.enqueue(caller.conn, new_job()).wait()

    asyncio.run(play())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "sync" not in kind])
def test_async_code_may_hold_a_plain_connection(kind: str, place: Place) -> None:
    kept, lost = new_job(), new_job()

    async def play() -> None:
        async with opened[kind](place.url, False) as caller:
            assert await place.enqueue(caller.conn, kept) == [Enqueued(kept.id, True)]
            await caller.commit()
            await place.enqueue(caller.conn, lost)
            await caller.rollback()

    asyncio.run(play())
    assert kept.id in place.stored()
    assert lost.id not in place.stored()


def test_rows_and_cursors_of_the_callers_choice(place: Place) -> None:
    first, second = new_job(unique=Unique("rows", None)), new_job(unique=Unique("rows", None))
    with psycopg.connect(place.url, row_factory=dict_row, cursor_factory=psycopg.RawCursor) as conn:
        assert place.enqueue(conn, first).wait() == [Enqueued(first.id, True)]
        assert place.enqueue(conn, second).wait() == [Enqueued(first.id, False)]
        assert conn.execute("SELECT 1 AS one WHERE $1", [True]).fetchone() == {"one": 1}


def test_pipeline_mode_is_told(place: Place) -> None:
    told = pytest.raises(UsageError, match=r"it is in pipeline mode; enqueue outside of the pipeline\(\) block")
    with psycopg.connect(place.url) as conn, conn.pipeline(), told:
        place.enqueue(conn, new_job()).wait()


def test_another_kind_of_database_is_told(place: Place) -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    told = pytest.raises(UsageError, match="it is a connection to sqlite, and the store is in PostgreSQL")
    with orm.Session(engine) as session, told:
        place.enqueue(session, new_job()).wait()
    engine.dispose()


def test_a_plain_session_on_an_async_engine_is_told(place: Place) -> None:
    engine = sqlalchemy_asyncio.create_async_engine(place.url.replace("postgresql:", "postgresql+asyncpg:"))
    told = pytest.raises(UsageError, match="its driver is an async one; pass the AsyncSession or AsyncConnection")
    with orm.Session(engine.sync_engine) as session, told:
        place.enqueue(session, new_job()).wait()


def test_scoped_sessions(place: Place) -> None:
    engine = sqlalchemy.create_engine(place.url.replace("postgresql:", "postgresql+psycopg:"))
    session = orm.scoped_session(orm.sessionmaker(engine))
    kept, lost = new_job(), new_job()
    place.enqueue(session, kept).wait()
    session.commit()
    place.enqueue(session, lost).wait()
    session.rollback()
    session.remove()
    engine.dispose()
    assert kept.id in place.stored()
    assert lost.id not in place.stored()


def test_a_session_that_waits_for_its_rollback_is_told(place: Place) -> None:
    """SQLAlchemy refuses to go on after a failed flush, before the server is asked."""
    engine = sqlalchemy.create_engine(place.url.replace("postgresql:", "postgresql+psycopg:"))
    base = orm.declarative_base()
    order = type("Order", (base,), {
        "__tablename__": "orders", "__table_args__": {"schema": place.schema},
        "note": sqlalchemy.Column(sqlalchemy.Text, primary_key=True),
    })  # fmt: skip
    with orm.Session(engine) as session:
        session.add(order(note="twice"))
        session.flush()
        session.execute(sqlalchemy.insert(order).values(note="again"))
        session.add(order(note="again"))
        with pytest.raises(sqlalchemy.exc.IntegrityError):
            session.flush()
        with pytest.raises(UsageError, match="was aborted by an earlier error; roll it back first"):
            place.enqueue(session, new_job()).wait()
        session.rollback()
        job = new_job()
        place.enqueue(session, job).wait()
        session.commit()
    engine.dispose()
    assert job.id in place.stored()


def test_numbered_parameters() -> None:
    text = "SELECT %(b)s::text, %(a)s::bigint, %(b)s::text, 7 %% 2"
    assert in_dollars(text) == ("SELECT $1::text, $2::bigint, $1::text, 7 % 2", ("b", "a"))
