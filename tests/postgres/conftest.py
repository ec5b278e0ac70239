"""Fixtures for tests of the private servers themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.binaries import VERSIONS, Version
from tests.postgres.server import Server


@pytest.fixture(params=VERSIONS, ids=lambda version: f"postgresql-{version}")
def version(request: pytest.FixtureRequest) -> Version:
    found: Version = request.param
    return found


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"postgresql-{version}")
def module_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(request.param) as server:
        yield server


@pytest.fixture
def own_server(module_server: Server) -> Server:
    """A server that the tests of a module may stop, kill and suspend. It has a table `kept` with one row."""
    module_server.execute("DROP TABLE IF EXISTS kept")
    module_server.execute("CREATE TABLE kept AS SELECT 1")
    return module_server
