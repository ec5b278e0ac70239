"""A blocked event loop is noticed, and the handler on its stack is named with its line."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from penstock import App
from penstock.worker.liveness import watchdog
from penstock.worker.liveness.watchdog import Watchdog, _blame, _handler_code


def test_the_handler_on_the_stack_is_blamed_with_its_own_line(app: App) -> None:
    @app.job
    def guilty() -> tuple[str | None, str]:
        return helper()

    def helper() -> tuple[str | None, str]:
        return _blame(sys._getframe(), _handler_code(app.registry))

    name, place = guilty()
    line = guilty.declaration.function.__code__.co_firstlineno + 2
    assert (name, place) == ("guilty", f"{__file__}:{line}")


def test_code_outside_of_handlers_is_named_by_its_place() -> None:
    name, place = _blame(sys._getframe(), {})
    assert name is None
    assert place.startswith(f"{__file__}:")
    assert _blame(None, {}) == (None, "an unknown place")


def test_each_blockage_is_reported_once(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watchdog, "BLOCKED_SECONDS", 0.05)
    monkeypatch.setattr(watchdog, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "TICK_SECONDS", 0.01)

    @app.job
    def blocks(until: str) -> None: ...

    reported = threading.Semaphore(0)
    monkeypatch.setattr(watchdog.log, "warning", lambda *words: reported.release())

    async def main() -> None:
        dog = Watchdog(app.registry)
        for number in (1, 2):
            assert await asyncio.to_thread(lambda: True)
            assert reported.acquire(timeout=30), "blocking the loop here is the point"
            assert dog.blocked == number
            tick = dog._tick
            while dog._tick == tick:
                await asyncio.sleep(0.01)
        dog.close()
        assert not dog._thread.is_alive()

    asyncio.run(main())
