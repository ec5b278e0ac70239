"""A block closes the store of its app: what was stored is there, and nothing is left open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock import App, PenstockError, State, UsageError
from penstock.store.contract import ListJobs
from tests.contract.engines import Engine


@pytest.fixture
def app(engine: Engine, address: str) -> App:
    return App(address)


def test_a_block_closes_the_store(app: App, engine: Engine, address: str) -> None:
    with app as entered:
        assert entered is app
        job = app.enqueue("work", {})
    with pytest.raises(PenstockError, match="closed"):
        app.enqueue("work", {})
    with App(address) as again:
        assert again.get(job.id).state() is State.PENDING
    engine.drop(address)


def test_an_async_block_closes_the_store_and_what_its_loop_had_open(app: App, engine: Engine, address: str) -> None:
    async def main() -> str:
        async with app as entered:
            assert entered is app
            jobs = await asyncio.gather(*(app.aenqueue("work", {}) for _ in range(5)))
        with pytest.raises(PenstockError, match="closed"):
            await app.aenqueue("work", {})
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return jobs[-1].id

    last = asyncio.run(main())
    with App(address) as again:
        assert again.get(last).state() is State.PENDING
    engine.drop(address)


def test_an_error_in_the_block_is_told_and_the_store_is_closed(app: App, engine: Engine, address: str) -> None:
    def fail() -> None:
        with app:
            app.enqueue("work", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(PenstockError, match="closed"):
        app.enqueue("work", {})
    engine.drop(address)


def test_it_cannot_be_closed_inside_of_its_transaction(app: App, engine: Engine, address: str) -> None:
    """It would wait for the end of the block, for ever."""

    async def main() -> None:
        async with app.atransaction() as tx:
            with pytest.raises(UsageError, match="inside"):
                await asyncio.to_thread(app.close)
            await app.aenqueue("work", {}, conn=tx)

    with app.transaction() as tx:
        with pytest.raises(UsageError, match="inside"):
            app.close()
        app.enqueue("work", {}, conn=tx)
    asyncio.run(main())
    app.close()
    with App(address) as again:
        assert len(again.store.list_jobs(ListJobs()).wait()) == 2
    engine.drop(address)


def test_a_plain_block_in_a_running_loop_names_the_other(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="use `async with`"):
            App(f"sqlite:///{tmp_path}/jobs.db").__enter__()

    asyncio.run(main())
