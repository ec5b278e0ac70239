"""A store, a client on it, and processes that are always ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App
from tests.contract.engines import NEWEST, Engine
from tests.e2e.processes import Processes
from tests.e2e.supervised import Supervised


# One version of each kind: the contract suite runs on all.
@pytest.fixture(params=list(NEWEST.values()), ids=lambda engine: engine.kind)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


@pytest.fixture
def address(engine: Engine, tmp_path: Path) -> Iterator[str]:
    address = engine.address(tmp_path)
    yield address
    engine.drop(address)


@pytest.fixture
def app(address: str) -> Iterator[App]:
    """An app without handlers: it enqueues by name, as another program would."""
    app = App(address)
    yield app
    app.close()


@pytest.fixture
def processes(tmp_path: Path, address: str) -> Iterator[Processes]:
    processes = Processes(tmp_path, address)
    yield processes
    processes.end()


@pytest.fixture
def gate(tmp_path: Path) -> str:
    """A path that handlers wait for: a test opens the gate by making the file."""
    return str(tmp_path / "gate")


@pytest.fixture
def supervised(tmp_path: Path, address: str) -> Iterator[Supervised]:
    supervised = Supervised(tmp_path, address)
    yield supervised
    supervised.end()
