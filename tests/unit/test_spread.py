"""Spreading from code: the jobs that are made, once in a period, and what is refused."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Concurrency, ConfigError, EnqueueUncertain, Unique, UsageError
from penstock.domain.clock import from_us
from penstock.domain.errors import CommitUncertain
from penstock.domain.job import Job
from penstock.store.contract import ListJobs
from penstock.testing import FakeClock

MIDNIGHT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(MIDNIGHT + timedelta(hours=7))


@pytest.fixture
def app(tmp_path: Path, clock: FakeClock) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
    yield app
    app.close()


@pytest.fixture
def resync(app: App) -> Any:
    @app.job(priority=3, limit=Concurrency("store:{store_id}", 1))
    async def resync(store_id: int) -> None: ...

    return resync


def stored(app: App) -> list[Job]:
    return app.store.list_jobs(ListJobs(limit=1000)).wait()


def test_every_item_in_every_batch_every_four_hours(app: App, clock: FakeClock, resync: Any) -> None:
    start = clock.now()
    assert app.spread("resync", (resync.bind(number) for number in range(5)), batches=6, mode="each") == 30
    due = Counter((job.due_at - start, job.payload["store_id"]) for job in stored(app))
    assert due == {(timedelta(hours=4 * batch), number): 1 for batch in range(6) for number in range(5)}
    assert {(job.priority, job.keys[0]) for job in stored(app)} == {(3, f"store:{number}") for number in range(5)}


def test_each_once_at_its_own_moment_from_the_given_start(app: App, resync: Any) -> None:
    start = MIDNIGHT + timedelta(days=3, hours=2)
    assert app.spread("resync", [resync.bind(number) for number in range(4)], period="8h", start=start) == 4
    found = sorted((job.due_at, job.payload["store_id"]) for job in stored(app))
    assert found == [(start + timedelta(hours=2 * number), number) for number in range(4)]


def test_once_in_a_period_by_its_name(app: App, clock: FakeClock, resync: Any) -> None:
    calls = [resync.bind(number) for number in range(3)]
    assert app.spread("resync", calls) == 3
    assert app.spread("resync", calls) == 0
    assert app.spread("other", calls) == 3
    clock.advance("16h59m")
    assert app.spread("resync", calls, batches=2) == 0, "the day in UTC is not over"
    clock.advance("2m")
    assert app.spread("resync", calls) == 3
    assert len(stored(app)) == 9


def test_periods_are_told_by_their_start(app: App, clock: FakeClock, resync: Any) -> None:
    calls = [resync.bind(1)]
    for day in (-1, 0, 1):
        noon = MIDNIGHT + timedelta(days=day, hours=12)
        assert app.spread("resync", calls, start=noon) == 1
        assert app.spread("resync", calls, start=noon - timedelta(hours=11)) == 0
    assert app.spread("resync", calls) == 0


def test_a_fixed_start_is_spread_once_and_refused_when_it_is_not_known_any_more(
    app: App, clock: FakeClock, resync: Any
) -> None:
    assert app.spread("resync", [resync.bind(1)], start=MIDNIGHT) == 1
    for days in (2, 100, 264):
        clock.advance(timedelta(days=days))
        assert app.spread("resync", [resync.bind(1)], start=MIDNIGHT) == 0
    clock.advance("1d")
    with pytest.raises(ConfigError, match=r"not known any more; give a start after 2030-01-02T07:00:00"):
        app.spread("resync", [resync.bind(1)], start=MIDNIGHT)
    assert len(stored(app)) == 1


def test_from_async_code(app: App, resync: Any) -> None:
    async def main() -> list[int]:
        with pytest.raises(UsageError, match="await aspread"):
            app.spread("resync", [resync.bind(1)])
        return [await app.aspread("resync", [resync.bind(1)], batches=1) for _ in range(2)]

    assert asyncio.run(main()) == [1, 0]
    assert asyncio.run(app.aspread("nothing", [])) == 0


def test_no_calls_are_no_jobs_and_hold_nothing(app: App, resync: Any) -> None:
    assert app.spread("resync", []) == 0
    assert app.spread("resync", [resync.bind(1)]) == 1


def test_what_a_unique_key_refuses_is_not_counted(app: App, resync: Any) -> None:
    unique = resync.using(unique=Unique("resync:{store_id}"))
    unique.enqueue(1)
    assert app.spread("resync", [unique.bind(1), unique.bind(2)]) == 1


def test_one_that_cannot_be_stored_leaves_none_and_the_period_free(app: App, resync: Any) -> None:
    @app.job(limit=Concurrency("store:{shop}", 2))
    async def other(shop: int) -> None: ...

    other.enqueue(7)
    with pytest.raises(ConfigError, match="two limits"):
        app.spread("resync", [resync.bind(1), resync.bind(7)])
    assert [job.type for job in stored(app)] == ["other"]
    assert app.spread("resync", [resync.bind(1)]) == 1


def test_what_is_refused(app: App, resync: Any) -> None:
    def refused(message: str, calls: Any, kind: type[Exception] = ConfigError, **arguments: Any) -> None:
        with pytest.raises(kind) as caught:
            app.spread("resync", calls, **arguments)
        assert message in str(caught.value)

    one = [resync.bind(1)]
    refused("spread() takes calls made by bind(), not int", [1], UsageError)
    refused("spread() takes calls made by bind(), not JobType", [resync], UsageError)
    refused("spread() decides when resync is due: leave delay= and at= out", [resync.using(delay="5m").bind(1)])
    refused("leave delay= and at= out", [resync.using(at=MIDNIGHT).bind(1)])
    each: dict[str, Any] = {"mode": "each", "batches": 6}
    refused("a unique key of its own allows only one: add using(unique=None)",
            [resync.using(unique=Unique("a")).bind(1)], **each)  # fmt: skip
    own_id = resync.using(id="018f0000-0000-7000-8000-000000000000")
    refused("an id of its own allows only one: leave id= out", [own_id.bind(1)], **each)
    refused("has no time zone", one, start=datetime(2030, 1, 1))  # noqa: DTZ001
    refused("batches=0 is not possible", one, batches=0)
    refused("period='0s' is not possible", one, period="0s")
    refused("mode='every' does not exist", one, mode="every")
    refused("mode='each' puts every call into every batch: say how many", one, mode="each")
    refused("the spread 'resync' would be 1,000,001 jobs: at most 1,000,000 are stored at once; use parts",
            one * 1_000_001)  # fmt: skip
    refused("would be 1,010,000 jobs: at most 1,000,000 are stored at once; use fewer batches, or a shorter period",
            one * 101, mode="each", batches=10_000)  # fmt: skip
    with pytest.raises(ConfigError, match="the name of a spread"):
        app.spread("", one)
    assert stored(app) == []


def test_an_uncertain_end_says_to_do_it_again(app: App, resync: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost:
        def wait(self) -> None:
            raise CommitUncertain("the connection was lost")

    monkeypatch.setattr(app.client, "spread", lambda *_: Lost())
    with pytest.raises(EnqueueUncertain, match="Spread 'resync' again: what was stored is not stored twice"):
        app.spread("resync", [resync.bind(1)])


def test_the_stores_clock_decides(tmp_path: Path, clock: FakeClock) -> None:
    """A machine whose own clock is a day behind spreads today's period, not yesterday's."""
    app = App(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
    app.client.use_clock(FakeClock(MIDNIGHT - timedelta(days=1)))

    @app.job
    async def work() -> None: ...

    assert app.spread("work", [work.bind()], batches=1) == 1
    assert [job.due_at for job in stored(app)] == [from_us(clock.now_us())]
    app.close()
