"""What is read for the judgement of health, from a real store and from stores that fail, hang or answer slowly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.domain.errors import StoreUnavailable
from penstock.engines import open_store
from penstock.observe.reading import Reading
from penstock.store.contract import DeadFilter, RetryDead, SqlStore
from tests.contract.clock import FakeClock
from tests.contract.world import World

PATIENCE_SECONDS = 30.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = FakeClock()
    world = World(open_store(f"sqlite:///{tmp_path}/jobs.db", clock=clock), clock)
    yield world
    world.store.close()


class Changed:
    """A store of which one method does something else first."""

    def __init__(self, store: SqlStore, name: str, act: Callable[[], None]) -> None:
        self._store = store
        self._name = name
        self._act = act

    def __getattr__(self, name: str) -> Any:
        if name == self._name:
            self._act()
        return getattr(self._store, name)


def read(world: World, store: Any = None) -> Any:
    return Reading(lambda: cast(SqlStore, store or world.store), world.clock).wait(PATIENCE_SECONDS)


def test_a_store_at_work(world: World) -> None:
    session = world.register("w")
    world.add_dead(session)
    world.add(type="mail", queue="post")
    world.clock.advance(5)
    facts = read(world)
    assert (facts.error, facts.late, facts.dead) == (None, None, 1)
    assert [one.id for one in facts.workers] == ["w"]
    (lane,) = facts.lanes
    assert (lane.queue, facts.now_us - lane.oldest_due_at) == ("post", 5_000_000)
    assert "synchronous=FULL" in facts.durability


def test_dead_letters_that_were_retried_do_not_count(world: World) -> None:
    session = world.register("w")
    dead = world.add_dead(session)
    assert read(world).dead == 1
    world.store.retry_dead(RetryDead(filter=DeadFilter(ids=(dead,)), new_ids=[world.new_id()])).wait()
    assert read(world).dead == 0


def test_the_better_of_two_pings_counts(world: World) -> None:
    waits = iter([50.0, 3.0, 0.5])  # The first answer includes opening and is not measured.
    slow = Changed(world.store, "read_clock", lambda: world.clock.advance(next(waits)))
    assert read(world, slow).ping == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["read_clock", "list_workers", "count_waiting", "count_dead", "info"])
def test_an_error_anywhere_is_told_and_what_was_read_before_is_kept(world: World, name: str) -> None:
    def fail() -> None:
        raise StoreUnavailable("no route to the server; is it running?")

    facts = read(world, Changed(world.store, name, fail))
    assert facts.error == "no route to the server; is it running?"
    assert (facts.workers is None) is (name in ("read_clock", "list_workers"))
    assert (facts.dead is None) is (name != "info")


def test_an_error_without_words_is_named(world: World) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    assert read(world, Changed(world.store, "count_dead", fail)).error == "ZeroDivisionError"


def test_a_store_that_hangs_is_not_waited_for(world: World) -> None:
    asked, free = threading.Event(), threading.Event()

    def hang() -> None:
        asked.set()
        free.wait(PATIENCE_SECONDS)

    reading = Reading(lambda: cast(SqlStore, Changed(world.store, "list_workers", hang)), world.clock)
    assert asked.wait(PATIENCE_SECONDS)
    facts = reading.wait(0.0)
    assert (facts.late, facts.ping, facts.workers, reading.ended) == (0.0, 0.0, None, None)
    free.set()
    whole = reading.wait(PATIENCE_SECONDS)
    assert (whole.late, whole.workers, reading.ended is not None) == (None, [], True)


def test_finding_the_store_is_a_part_of_it(world: World) -> None:
    def find() -> SqlStore:
        raise StoreUnavailable("cannot connect")

    assert Reading(find, world.clock).wait(PATIENCE_SECONDS).error == "cannot connect"


def test_the_durability_is_not_asked_for_again(world: World) -> None:
    def refuse() -> None:
        raise AssertionError("asked for")

    store = cast(SqlStore, Changed(world.store, "info", refuse))
    facts = Reading(lambda: store, world.clock, durability="on disk").wait(PATIENCE_SECONDS)
    assert (facts.error, facts.durability) == (None, "on disk")
