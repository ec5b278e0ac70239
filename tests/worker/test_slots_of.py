"""How many jobs of a type a worker runs at once, where that is not simply its concurrency (O4)."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import App, Resources
from penstock.worker.settings import make_settings
from penstock.worker.slots import served_types, slot_groups, slots_of
from tests.worker.running import burst


def crunch() -> None:
    """At the top level, where a child process finds it."""


@pytest.fixture
def app(app: App) -> App:
    @app.job
    async def plain() -> None: ...

    @app.job(worker_concurrency=3)
    async def gentle() -> None: ...

    @app.job(resources=Resources(cpu=2, memory="1Gi"))
    async def heavy() -> None: ...

    @app.batch_job(size=10)
    async def embed(items: list[int]) -> list[int]:
        return items

    return app


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"concurrency": 20, "process_slots": 2}, {"crunch": 2, "gentle": 3, "heavy": 0}),
        ({"concurrency": 5, "process_slots": 5}, {"gentle": 3, "heavy": 0, "embed": 10}),
        (
            {"concurrency": 20, "process_slots": 20, "resources": Resources(cpu=8, memory="3Gi")},
            {"gentle": 3, "heavy": 3},
        ),
    ],
)  # fmt: skip
def test_what_limits_a_type_in_a_worker(app: App, given: dict[str, Any], found: dict[str, int]) -> None:
    app.job(runner="process")(crunch)
    settings = make_settings(**given)
    groups = slot_groups(app.registry, settings, served_types(app.registry, settings))
    assert slots_of(groups, app.registry, settings) == found


def test_it_is_registered_and_counted_with(app: App) -> None:
    app.enqueue("gentle", {})
    app.enqueue("plain", {})
    burst(app, concurrency=20, process_slots=20)
    [worker] = app.store.list_workers().wait()
    assert worker.slots_of == {"gentle": 3, "heavy": 0}
    sample = app.stats.sample()
    assert sample is not None
    assert {gauge.route.type: gauge.slots for gauge in sample.gauges} == {"gentle": 3.0, "plain": 20.0}
