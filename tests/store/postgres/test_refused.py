"""Texts that PostgreSQL cannot hold: whoever says them ends all the same, and nobody else suffers for it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from penstock import App, State
from penstock.client.client import JobCall
from tests.postgres.server import shared
from tests.worker.running import burst

_numbers = itertools.count()


@dataclass
class Named:
    name: str

    def __post_init__(self) -> None:
        if "\0" in self.name:
            raise ValueError(f"{self.name} is no name")


@pytest.fixture
def app() -> Iterator[App]:
    schema = f"refused_{next(_numbers)}"
    app = App(shared(18).url(schema=schema))
    yield app
    app.close()
    shared(18).execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_a_payload_whose_error_holds_a_nul_is_dead_and_holds_up_nobody(app: App) -> None:
    @app.job
    async def greet(who: Named) -> None: ...

    fine = greet.enqueue(Named("ada"))
    call = greet.bind(Named("ada"))
    [odd] = app.client.enqueue([JobCall('{"who":{"name":"a\\u0000b"}}', call.spec)], None)
    burst(app)
    job = odd.read()
    assert (fine.state(), job.state) == (State.COMPLETED, State.DEAD)
    assert job.reason is not None
    assert r"a\0b is no name" in job.reason
