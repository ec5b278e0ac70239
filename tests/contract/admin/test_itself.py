"""The store itself: what it says of itself, its schema, and its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.domain.errors import StoreClosed
from penstock.store import contract as p
from penstock.store.contract import SqlStore
from tests.contract.clock import FakeClock
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.engines import ENGINES, Engine
from tests.contract.world import World
from tests.tidy.tree import SOURCE


@pytest.fixture
def address(engine: Engine, tmp_path: Path) -> str:
    """There is no store yet."""
    return engine.fresh(tmp_path)


def test_no_engine_is_left_out() -> None:
    made = [path.parent.name for path in (SOURCE / "store").glob("*/store.py")]
    assert len(made) > 1
    assert [name for name in made if not any(engine.kind.startswith(name) for engine in ENGINES)] == []


def test_info_says_what_a_person_can_check(engine: Engine, world: World) -> None:
    info = world.store.info
    assert info.engine == engine.kind
    assert info.address == world.store.address
    assert info.library
    assert info.durability
    assert info.schema_version == world.store.migration_status().latest


def test_the_address_is_known_without_opening(world: World) -> None:
    assert world.store.address
    assert world.store.migration_status().current == 0


def test_migration_status_changes_nothing(world: World) -> None:
    before = world.store.migration_status()
    assert (before.current, before.latest, len(before.pending)) == (0, before.latest, before.latest)
    assert world.store.migration_status() == before
    assert world.store.migrate() == before
    after = world.store.migration_status()
    assert (after.current, after.pending) == (before.latest, [])
    assert world.store.migrate() == after


def test_the_sql_of_a_migration_names_each_that_is_pending_and_changes_nothing(world: World) -> None:
    before = world.store.migration_status()
    text = world.store.migration_script()
    assert [name for name in before.pending if f"-- {name}\n" not in text] == []
    assert world.store.migration_status() == before
    world.store.migrate()
    assert world.store.migration_script() == ""


def test_the_clock_is_the_one_that_decides(world: World) -> None:
    before = world.store.read_clock().wait()
    world.clock.advance(5)
    assert (before, world.store.read_clock().wait()) == (world.clock.now_us() - 5_000_000, world.clock.now_us())


@pytest.mark.parametrize("deep", [False, True])
def test_a_sound_store_has_no_error_to_report(world: World, carry_out: CarryOut, deep: bool) -> None:
    world.add()
    found = carry_out(world.store.check_store(p.CheckStore(deep)))
    assert found
    assert [finding for finding in found if finding.level == "error"] == []
    assert all(finding.name and finding.message for finding in found)
    assert all((finding.fix is None) == (finding.level == "ok") for finding in found)


def test_a_missing_store_is_an_error_with_its_fix_and_is_not_made(world: World) -> None:
    missing = [finding for finding in world.store.check_store(p.CheckStore()).wait() if finding.level == "error"]
    assert missing
    assert all(finding.fix for finding in missing)
    assert world.store.migration_status().current == 0


def test_many_may_migrate_at_once(open_again: OpenAgain) -> None:
    worlds = [open_again() for _ in range(5)]
    problems: list[BaseException] = []
    start = threading.Barrier(5)

    def migrate(store: SqlStore) -> None:
        try:
            start.wait(10)
            store.migrate()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=migrate, args=(world.store,)) for world in worlds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    worlds[0].add()
    assert all(len(world.list_ids()) == 1 for world in worlds)


def test_what_was_committed_is_there_after_closing(engine: Engine, tmp_path: Path, clock: FakeClock) -> None:
    address = engine.fresh(tmp_path)
    first = World(engine.open(address, clock), clock)
    job_id = first.add()
    first.store.close()
    second = World(engine.open(address, clock), clock)
    try:
        assert second.list_ids() == [job_id]
    finally:
        second.store.close()
        engine.drop(address)


USES: dict[str, Callable[[World], Any]] = {
    "enqueue": lambda world: world.add(),
    "read": lambda world: world.list_ids(),
    "claim": lambda world: world.claim(1),
    "version": lambda world: world.store.version(),
    "info": lambda world: world.store.info,
    "transaction": lambda world: world.store.transaction().__enter__(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("opened", [True, False])
def test_later_use_means_store_closed(world: World, use: str, opened: bool) -> None:
    if opened:
        world.add()
    world.store.close()
    world.store.close()
    with pytest.raises(StoreClosed):
        USES[use](world)


def test_closing_finishes_what_was_handed_in(world: World, open_again: OpenAgain) -> None:
    world.add()

    async def enqueue() -> list[p.Enqueued]:
        return await world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()]))

    async def main() -> list[list[p.Enqueued]]:
        handed_in = [asyncio.create_task(enqueue()) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.to_thread(world.store.close)
        return await asyncio.gather(*handed_in)

    assert all(new.created for (new,) in asyncio.run(main()))
    assert len(open_again().list_ids()) == 21
