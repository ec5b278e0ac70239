"""Schedules in a sandbox: declared ones are there, and fire when the test says so, by its clock."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock import App, Unique, UsageError
from penstock.testing import FakeClock, inline, sandbox


@pytest.fixture
def app() -> App:
    app = App("sqlite:///never-opened.db")

    @app.job
    async def cleanup(days: int = 7) -> int:
        return days

    app.schedule("nightly", job=cleanup.bind(3), cron="0 3 * * *", timezone="Europe/Berlin")
    app.schedule("hourly", job=cleanup.bind(), every="1h", misfire="all")
    return app


def test_they_fire_when_the_test_says_so(app: App) -> None:
    with sandbox(app, clock=FakeClock(datetime(2030, 1, 1, tzinfo=UTC))) as jobs:
        assert [one.name for one in app.schedules.list()] == ["hourly", "nightly"]
        assert jobs.run().completed == 0
        jobs.clock.advance("3h")
        assert jobs.fire_schedules() == 4
        jobs.assert_enqueued("cleanup", days=3, count=1)
        jobs.assert_enqueued("cleanup", tags=("schedule:hourly",), count=3)
        assert jobs.run().completed == 4
        assert jobs.fire_schedules() == 0


async def fired(app: App) -> int:
    with sandbox(app) as jobs:
        jobs.clock.advance("1d")
        with pytest.raises(UsageError, match=r"await afire_schedules\(\)"):
            jobs.fire_schedules()
        made = await jobs.afire_schedules()
        assert (await jobs.arun()).completed == made
        return made


def test_in_async_code(app: App) -> None:
    import asyncio

    assert asyncio.run(fired(app)) == 25


def test_one_can_be_run_out_of_its_time_and_inline(app: App) -> None:
    with inline(app):
        assert app.schedules.run("nightly").result() == 3


def test_what_a_unique_key_kept_away_was_not_enqueued(app: App) -> None:
    with sandbox(app) as jobs:
        call = app.client.call_by_name("cleanup", {}, {"unique": Unique("one")}, {})
        app.schedules.add("once", job=call, every="1m")
        app.schedules.run("once")
        app.schedules.run("once")
        jobs.assert_enqueued("cleanup", count=1)


def test_another_sandbox_knows_nothing_of_it(app: App) -> None:
    with sandbox(app):
        app.schedules.pause("nightly")
    with sandbox(app):
        assert app.schedules.get("nightly").status == "active"
