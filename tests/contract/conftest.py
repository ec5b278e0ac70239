"""Fixtures of the contract suite: every test runs once per engine, on a fresh store with a clock that it moves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.store.call import Call
from tests.contract.clock import FakeClock
from tests.contract.engines import BY_TURNS, Engine
from tests.contract.world import World

OpenAgain = Callable[[], World]
CarryOut = Callable[[Call[Any]], Any]
Hand = Callable[[str], None]


@pytest.fixture(params=BY_TURNS)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def address(engine: Engine, tmp_path: Path) -> str:
    """Nothing is stored there. Whether the tables exist is left open."""
    return engine.address(tmp_path)


@pytest.fixture
def open_again(engine: Engine, clock: FakeClock, address: str) -> Iterator[OpenAgain]:
    """Opens one more handle to the same store, as another process would."""
    opened: list[World] = []

    def open_one() -> World:
        opened.append(World(engine.open(address, clock), clock))
        return opened[-1]

    yield open_one
    for world in opened:
        world.store.close()
    engine.drop(address)


@pytest.fixture
def world(open_again: OpenAgain) -> World:
    return open_again()


@pytest.fixture
def narrow_world(engine: Engine, clock: FakeClock, address: str) -> Iterator[World]:
    """A store on which only one transaction of a caller's can be open at a time."""
    world = World(engine.open(address + engine.narrow, clock), clock)
    yield world
    world.store.close()
    engine.drop(address)


@pytest.fixture
def session(world: World) -> int:
    """A registered worker."""
    return world.register()


def waited(call: Call[Any]) -> Any:
    return call.wait()


def awaited(call: Call[Any]) -> Any:
    async def main() -> Any:
        return await call

    return asyncio.run(main())


@pytest.fixture(params=[waited, awaited])
def carry_out(request: pytest.FixtureRequest) -> CarryOut:
    """Both faces of a Call."""
    found: CarryOut = request.param
    return found


@pytest.fixture
def hand(engine: Engine, address: str, world: World) -> Hand:
    """Changes rows as a person would. Tables are written as penstock.NAME, and what points to a job as KEY."""

    def change(sql: str) -> None:
        named = sql.replace("KEY", "seq" if engine.kind == "sqlite" else "id")
        with world.store.transaction() as tx:
            tx.execute(re.sub(r"penstock\.(\w+)", lambda found: engine.table(address, found[1]), named))

    return change
