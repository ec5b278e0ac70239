"""Which jobs share a call of a batch handler, and when it begins."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from penstock import App, Failed
from penstock.domain.registry import Batching
from penstock.worker.running.batches import Batches, outcomes_of
from penstock.worker.running.run import BatchCall, Run, TypePlan
from penstock.worker.settings import make_settings
from penstock.worker.slots import slot_groups
from tests.worker.fakes import claim, declaration_of, default_policy


class Gathering:
    """Batches by themselves, with the calls that they began."""

    def __init__(self, app: App, size: int, wait: float, calls: int) -> None:
        app.job(name="work")(lambda: None)
        self.plan = TypePlan(declaration_of(app, "work"), "work", app.store)
        self.loop = asyncio.get_running_loop()
        self.begun: list[list[int]] = []
        self.batches = Batches(self.loop, Batching(size, wait), calls, self._launch)

    def _launch(self, call: BatchCall) -> None:
        self.begun.append([run.claim.token for run in call.runs])

    def add(self, token: int, **fields: Any) -> Run:
        made = msgspec.structs.replace(claim(token), **fields)
        run = Run(made, self.plan, default_policy(), None, self.loop.time(), 0)
        self.batches.add(run)
        return run


def test_a_batch_does_not_gather_until_others_get_its_jobs(app: App) -> None:
    """What has not begun within the start timeout is given back, and would be dead in the end."""

    @app.batch_job(size=10, wait="1h")
    async def work(items: list[int]) -> list[int]:
        return items

    [group] = slot_groups(app.registry, make_settings(start_timeout=20.0), ("work",))
    assert group.batching == Batching(10, 10.0)
    [group] = slot_groups(app.registry, make_settings(start_timeout=20_000.0), ("work",))
    assert group.batching == Batching(10, 3600.0)


def test_what_has_crashed_runs_alone(app: App) -> None:
    async def story() -> None:
        gathering = Gathering(app, size=2, wait=3600, calls=9)
        gathering.add(1)
        gathering.add(2, attempt=2, crashes=1)
        gathering.add(3, attempt=2)
        assert gathering.begun == [[2], [1, 3]]
        gathering.batches.close()

    asyncio.run(story())


def test_a_call_waits_for_its_turn_and_those_that_have_ended_are_left_out(app: App) -> None:
    async def story() -> None:
        gathering = Gathering(app, size=2, wait=0, calls=1)
        _, *late = [gathering.add(token) for token in (1, 2, 3, 4, 5, 6)]
        assert gathering.begun == [[1, 2]]
        late[1].over = late[2].over = True
        gathering.batches.ended()
        assert gathering.begun == [[1, 2], [5, 6]]
        gathering.batches.ended()
        assert gathering.begun == [[1, 2], [5, 6]]
        gathering.batches.close()

    asyncio.run(story())


def test_without_a_wait_those_that_come_together_still_share_a_call(app: App) -> None:
    async def story() -> None:
        gathering = Gathering(app, size=9, wait=0, calls=9)
        for token in (1, 2, 3):
            gathering.add(token)
        async with asyncio.timeout(30):
            while not gathering.begun:
                await asyncio.sleep(0)
        assert gathering.begun == [[1, 2, 3]]
        gathering.batches.close()

    asyncio.run(story())


def test_a_stop_begins_what_there_is(app: App) -> None:
    async def story() -> None:
        gathering = Gathering(app, size=3, wait=3600, calls=9)
        gathering.add(1)
        gathering.add(2)
        assert gathering.begun == []
        gathering.batches.hurry()
        assert gathering.begun == [[1, 2]]
        gathering.batches.close()

    asyncio.run(story())


def test_the_wait_is_that_of_the_first_job(app: App) -> None:
    """When the first one was taken along by a full call, the next one's own wait counts."""

    async def story() -> None:
        gathering = Gathering(app, size=2, wait=0.02, calls=9)
        for token in (1, 2, 3):
            gathering.add(token)
        assert gathering.begun == [[1, 2]]
        async with asyncio.timeout(30):
            while len(gathering.begun) == 1:
                await asyncio.sleep(0.001)
        assert gathering.begun == [[1, 2], [3]]
        gathering.batches.close()

    asyncio.run(story())


def test_outcomes_of_a_call(app: App) -> None:
    async def story() -> None:
        gathering = Gathering(app, size=9, wait=0, calls=0)
        call = BatchCall([gathering.add(1), gathering.add(2)])
        failure = ValueError("no")
        assert outcomes_of(call, [1, Failed(failure)], None) == [(1, None), (None, failure)]
        assert outcomes_of(call, (1, failure), None) == [(1, None), (None, failure)]
        assert outcomes_of(call, [1, 2], failure) == [(None, failure)] * 2
        gathering.batches.close()

    asyncio.run(story())


def test_what_failed_takes_is_checked_where_it_is_made() -> None:
    with pytest.raises(TypeError, match=r"takes an exception or a text, not <class 'ValueError'>"):
        Failed(ValueError)  # type: ignore[arg-type]
    assert str(Failed("empty").error) == "empty"
