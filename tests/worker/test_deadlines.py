"""One timer for all deadlines: armed for the earliest, moved on after each look."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from penstock import App
from penstock.worker.running.deadlines import Deadlines
from penstock.worker.running.run import Run, TypePlan
from tests.worker.fakes import claim, declaration_of, default_policy


class ManualLoop(asyncio.SelectorEventLoop):
    """A loop whose timers are fired by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.armed: list[tuple[float, Callable[[], object], asyncio.TimerHandle]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[..., object], *args: object, context: object = None):  # type: ignore[no-untyped-def]
        handle = asyncio.TimerHandle(when, callback, args, self)
        self.armed.append((when, callback, handle))
        return handle

    @property
    def pending(self) -> list[float]:
        return [when for when, _, handle in self.armed if not handle.cancelled()]

    def move_to(self, moment: float) -> None:
        self.now = moment
        due = [item for item in self.armed if item[0] <= moment and not item[2].cancelled()]
        self.armed = [item for item in self.armed if item not in due]
        for _, callback, _ in due:
            callback()


def make_run(app: App, token: int, deadline: float | None) -> Run:
    run = Run(claim(token), TypePlan(declaration_of(app, "work"), "work", app.store), default_policy(), None, 0.0, 0)
    run.deadline = deadline
    return run


@pytest.fixture
def loop() -> Iterator[ManualLoop]:
    loop = ManualLoop()
    yield loop
    loop.close()


def test_each_run_expires_at_its_own_deadline_with_one_timer(app: App, loop: ManualLoop) -> None:
    @app.job
    async def work() -> None: ...

    active: dict[int, Run] = {}
    expired: list[int] = []

    def end(run: Run) -> None:
        expired.append(run.claim.token)
        del active[run.claim.token]

    deadlines = Deadlines(loop, active.values, end)
    for token, deadline in enumerate([105.0, 101.0, None, 103.0]):
        active[token] = make_run(app, token, deadline)
        if deadline is not None:
            deadlines.watch(deadline)
        assert len(loop.pending) <= 1
    assert loop.pending == [101.0]
    loop.move_to(101.0)
    assert (expired, loop.pending) == ([1], [103.0])
    loop.move_to(110.0)
    assert (expired, loop.pending) == ([1, 0, 3], [])
    deadlines.watch(120.0)
    deadlines.close()
    assert loop.pending == []


def test_a_run_that_ended_in_time_is_left_alone(app: App, loop: ManualLoop) -> None:
    @app.job
    async def work() -> None: ...

    active = {1: make_run(app, 1, 101.0)}
    deadlines = Deadlines(loop, active.values, lambda run: expired.append(run))
    expired: list[Run] = []
    deadlines.watch(101.0)
    active.clear()
    loop.move_to(101.0)
    assert (expired, loop.pending) == ([], [])
