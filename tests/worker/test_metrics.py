"""A worker that serves its metrics: over real HTTP, whatever its loop and its store do."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time
from typing import Any

import pytest

from penstock import App, Fixed, JobFailed
from penstock.domain.errors import ConfigError, StoreUnavailable
from penstock.observe.metrics import look
from penstock.observe.metrics.exposition import CONTENT_TYPE
from penstock.store.contract import StoreSample
from tests.unit.observe.metrics.reading import Samples, samples, value
from tests.worker.running import beside_worker
from tests.worker.test_health_endpoint import place

PATIENCE_SECONDS = 30.0


def request(base: str, path: str = "/metrics", method: str = "GET") -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def scrape(base: str) -> Samples:
    status, _, text = request(base)
    assert status == 200
    return samples(text)


async def ascrape(base: str) -> Samples:
    return await asyncio.to_thread(scrape, base)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def take_sample(app: App) -> None:
    """What the leader does every few seconds."""
    counted, ended = await app.store.count_gauges(), await app.store.count_ended()
    await app.store.store_sample(StoreSample(counted.at, 0.001, counted.gauges, ended))


@pytest.fixture
def app(app: App) -> App:
    @app.job
    async def mail() -> None: ...

    @app.job(attempts=2, backoff=Fixed(0.01))
    async def breaks() -> None:
        raise ValueError("broken")

    return app


def test_what_happened_is_counted(app: App) -> None:
    async def story() -> None:
        base = await place(app)
        for job in [await app.aenqueue("mail", {}) for _ in range(20)]:
            await job.aresult(timeout=PATIENCE_SECONDS)
        broken = await app.aenqueue("breaks", {})
        with pytest.raises(JobFailed, match="broken"):
            await broken.aresult(timeout=PATIENCE_SECONDS)
        found = await ascrape(base)
        counted = {
            (type, status): value(found, "penstock_jobs_total", type=type, status=status)
            for type in ("mail", "breaks") for status in ("started", "completed", "failed", "retried", "dead")
        }  # fmt: skip
        assert [counted["mail", status] for status in ("started", "completed", "failed")] == [20, 20, 0]
        assert [counted["breaks", s] for s in ("started", "failed", "retried", "dead", "completed")] == [2, 2, 1, 1, 0]
        assert value(found, "penstock_job_duration_seconds_count", type="mail") == 20
        assert value(found, "penstock_queue_wait_seconds_count") == 22
        assert value(found, "penstock_scheduling_latency_seconds_count") == 22
        assert value(found, "penstock_worker_jobs_claimed_total", capability="general") == 22
        assert value(found, "penstock_worker_jobs_failed_total", capability="general") == 2
        assert value(found, "penstock_job_attempts_bucket", le="1") == 20
        assert value(found, "penstock_job_attempts_count") == 21
        assert value(found, "penstock_webhook_disabled_total") == value(found, "penstock_lease_rejected_total") == 0

    beside_worker(app, story)


def test_what_runs_now(app: App) -> None:
    begun, free = asyncio.Event(), asyncio.Event()

    @app.job
    async def waits() -> None:
        begun.set()
        await free.wait()

    async def story() -> None:
        base = await place(app)
        job = await waits.aenqueue()
        await asyncio.wait_for(begun.wait(), PATIENCE_SECONDS)
        found = await ascrape(base)
        free.set()
        await job.aresult(timeout=PATIENCE_SECONDS)
        assert value(found, "penstock_jobs_active", type="waits") == 1
        assert value(found, "penstock_jobs_active", type="mail") == 0
        assert value(found, "penstock_worker_slots") == 4
        assert value(found, "penstock_worker_utilization") == 0.25

    beside_worker(app, story, concurrency=4)


def test_the_form_of_an_answer(app: App) -> None:
    async def story() -> None:
        base = await place(app)
        status, headers, text = await asyncio.to_thread(request, base)
        assert (status, headers["Content-Type"], headers["Content-Length"]) == (200, CONTENT_TYPE, str(len(text)))
        assert text.endswith("\n")
        status, headers, text = await asyncio.to_thread(request, base, "/metrics", "HEAD")
        assert (status, headers["Content-Type"], text) == (200, CONTENT_TYPE, "")
        assert (await asyncio.to_thread(request, base, "/metrics?worker=another"))[0] == 404

    beside_worker(app, story)


def test_the_leader_shows_the_store_and_says_how_old_that_is(app: App) -> None:
    async def story() -> None:
        base = await place(app)
        with pytest.raises(JobFailed):
            await (await app.aenqueue("breaks")).aresult(timeout=PATIENCE_SECONDS)
        await take_sample(app)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while value(await ascrape(base), "penstock_leader") != 1:
                await asyncio.sleep(0.01)
            while ("penstock_sample_age_seconds", frozenset()) not in (found := await ascrape(base)):
                await asyncio.sleep(0.01)
        assert value(found, "penstock_workers", status="active") == 1
        assert value(found, "penstock_dead_letters", state="dead") == 1
        assert value(found, "penstock_queue_depth", type="later", state="scheduled") == 1
        assert value(found, "penstock_jobs_pending", capability="general") == 0

    app.enqueue("later", delay="1h")
    beside_worker(app, story)


def test_who_does_not_lead_shows_nothing_of_the_store(app: App) -> None:
    async def story() -> None:
        await take_sample(app)
        found = await ascrape(await place(app))
        names = {name for name, _ in found}
        assert value(found, "penstock_leader") == 0
        assert not names & {"penstock_queue_depth", "penstock_workers", "penstock_sample_age_seconds"}

    beside_worker(app, story, coordinates=False)


def test_a_blocked_loop_hides_nothing(app: App) -> None:
    asked: list[Samples] = []
    done = threading.Event()

    @app.job
    async def blocks() -> None:
        done.wait(PATIENCE_SECONDS)

    def ask(base: str) -> None:
        """From outside of the loop, as Prometheus does."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            found = scrape(base)
            if value(found, "penstock_jobs_active", type="blocks"):
                asked.append(found)
                break
        done.set()

    async def story() -> None:
        base = await place(app)
        await (await app.aenqueue("mail", {})).aresult(timeout=PATIENCE_SECONDS)
        threading.Thread(target=ask, args=(base,)).start()
        await (await blocks.aenqueue()).aresult(timeout=PATIENCE_SECONDS)
        assert value(asked[0], "penstock_jobs_total", type="mail", status="completed") == 1

    beside_worker(app, story)


def test_counts_are_shown_while_the_store_is_away_and_nobody_waits_for_it(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hangs when it is looked at, and a scrape goes on without it."""
    monkeypatch.setattr(look, "WAIT_SECONDS", 0.05)
    asked, free = threading.Event(), threading.Event()

    def hang() -> Any:
        asked.set()
        free.wait(PATIENCE_SECONDS)
        raise StoreUnavailable("gone; come back later")

    monkeypatch.setattr(app.store, "read_sample", hang)

    async def story() -> None:
        base = await place(app)
        await (await app.aenqueue("mail", {})).aresult(timeout=PATIENCE_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not asked.is_set():
                await ascrape(base)
        found = [await ascrape(base) for _ in range(3)][-1]
        assert len([one for one in threading.enumerate() if one.name == "penstock-metrics-reading"]) == 1
        free.set()
        assert value(found, "penstock_jobs_total", type="mail", status="completed") == 1
        assert ("penstock_workers", frozenset({("status", "active")})) not in found

    try:
        beside_worker(app, story)
    finally:
        free.set()


def test_an_address_of_their_own(app: App) -> None:
    port = free_port()

    async def story() -> None:
        await place(app)
        base = f"http://127.0.0.1:{port}"
        assert ("shop_leader", frozenset()) in await ascrape(base)
        assert (await asyncio.to_thread(request, base, "/live"))[0] == 404
        with pytest.raises(
            ConfigError, match=r"metrics.address='127.0.0.1:\d+': another program .*--metrics HOST:PORT"
        ):
            await app._worker({}, {"metrics": f"127.0.0.1:{port}"}).run()

    beside_worker(app, story, metrics=f"127.0.0.1:{port}", metrics_prefix="shop_")
    with pytest.raises(ConnectionRefusedError):
        scrape(f"http://127.0.0.1:{port}")


def test_nothing_is_left_behind(app: App) -> None:
    async def story() -> None:
        await ascrape(await place(app))

    observers = app._events._observers
    beside_worker(app, story, metrics="127.0.0.1:0")
    assert app._events._observers == observers
    assert not [one for one in threading.enumerate() if one.name.startswith("penstock-metrics")]


@pytest.mark.parametrize("prefix", ["", "9lives_", "shop-", "größe_", "a b", "x" * 41, "shop:", 7])
def test_a_prefix_that_prometheus_would_refuse_is_an_error(app: App, prefix: object) -> None:
    with pytest.raises(ConfigError, match=r"metrics_prefix=.* is not possible: write .* such as penstock_"):
        app._worker({}, {"metrics_prefix": prefix})


def test_a_coordinator_alone_shows_the_store(app: App) -> None:
    async def main() -> None:
        await take_sample(app)
        running = asyncio.ensure_future(app.run_coordinator())
        try:
            base = await place(app)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while ("penstock_sample_age_seconds", frozenset()) not in (found := await ascrape(base)):
                    await asyncio.sleep(0.01)
            assert value(found, "penstock_leader") == 1
            assert value(found, "penstock_workers", status="active") == 0
            assert ("penstock_worker_slots", frozenset()) not in found
            for path in ("/live", "/ready"):
                assert (await asyncio.to_thread(request, base, path))[0] == 200
        finally:
            running.cancel()
            await asyncio.wait({running})

    app.enqueue("mail", {})
    asyncio.run(main())
