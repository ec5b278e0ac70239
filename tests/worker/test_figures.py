"""A real worker's figures: they say what has become of its jobs, over restarts, and name the version of the app."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock import App, DoNotRetry, Fixed
from penstock.domain.figures.series import Count
from penstock.store.contract import CountJobs, ReadFigures
from tests.worker.running import burst


def counted(app: App) -> Counter[str]:
    found: Counter[str] = Counter()
    for point in app.stats.history("1d", every="1h"):
        found.update(point.counts)
    return found


def declare(app: App) -> None:
    @app.job(attempts=2, backoff=Fixed("1ms"))
    async def work(number: int) -> int:
        if number % 5 == 0:
            raise ValueError(number)
        if number % 7 == 0:
            raise DoNotRetry
        return number

    @app.job
    def plain(number: int) -> int:
        return number

    app.enqueue_many(work.bind(number) for number in range(100))
    app.enqueue_many(plain.bind(number) for number in range(50))


def test_what_was_counted_is_what_is_stored(app: App) -> None:
    declare(app)
    burst(app)
    ended = {one.state.value: 0 for one in app.store.count_jobs(CountJobs()).wait()}
    for one in app.store.count_jobs(CountJobs()).wait():
        ended[one.state.value] += one.jobs
    found = counted(app)
    assert {state: found[state] for state in ended} == ended
    assert found["started"] == 150 + found["retried"]
    assert found["failed"] == found["retried"] + found["dead"]


def test_figures_survive_the_worker_and_go_on_with_the_next(app: App) -> None:
    for number in range(1, 4):
        declare_once(app)
        for _ in range(10):
            app.enqueue("one", {})
        burst(app)
        assert counted(app)["completed"] == 10 * number


def declare_once(app: App) -> None:
    if "one" not in {declaration.name for declaration in app.registry}:

        @app.job
        async def one() -> None: ...


def test_points_tell_how_long_it_took(app: App) -> None:
    import asyncio

    @app.job
    async def slow() -> None:
        await asyncio.sleep(0.05)

    app.enqueue_many(slow.bind() for _ in range(5))
    burst(app)
    [point] = [one for one in app.stats.history() if one.runs]
    assert (point.type, point.queue, point.capability, point.runs) == ("slow", "default", "general", 5)
    assert point.run.p50 is not None
    assert 0.045 < point.run.p50 < 0.5
    assert point.busy_seconds == pytest.approx(5 * point.run.p50, rel=0.5)


def test_a_worker_that_ends_leaves_a_sample(app: App) -> None:
    declare(app)
    burst(app)
    sample = app.stats.sample()
    assert sample is not None
    assert {gauge.route.type for gauge in sample.gauges} == {"work", "plain"}


def test_jobs_that_are_removed_at_once_are_counted(app: App) -> None:
    @app.job(remove_on_complete=True)
    async def gone() -> None: ...

    app.enqueue_many(gone.bind() for _ in range(20))
    burst(app)
    assert app.store.count_jobs(CountJobs()).wait() == []
    assert counted(app)["completed"] == 20


def test_the_tenants_that_had_work_are_told(app: App) -> None:
    from penstock import Tenant

    declare_once(app)
    for tenant in ("acme", "acme", "other"):
        app.enqueue("one", {}, tenant=Tenant(tenant))
    burst(app)
    page = app.store.read_figures(ReadFigures(span=3600, since=0)).wait()
    assert {row.org: row.figures.completed for row in page.tenants} == {"acme": 2, "other": 1}
    assert Count.COMPLETED in page.rows[0].figures.counts


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_the_version_of_the_app(tmp_path: object, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "environment":
        monkeypatch.setenv("PENSTOCK_APP_VERSION", "1.4.2")
    with App(f"sqlite:///{tmp_path}/jobs.db", version="1.4.2" if way == "argument" else None) as app:
        declare_once(app)
        job = app.enqueue("one", {})
        burst(app)
        assert job.read().app_version == "1.4.2"
        [worker] = app.store.list_workers().wait()
        assert worker.app_version == "1.4.2"
