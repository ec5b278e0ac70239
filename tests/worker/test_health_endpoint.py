"""A worker that serves its health: wired to the real loop, heartbeat and store, and gone with the worker."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock import App
from penstock.domain.errors import ConfigError, StoreUnavailable
from penstock.observe.health import Limits
from penstock.store.contract import WorkerInfo
from penstock.worker.liveness import health, health_endpoint
from tests.worker.running import beside_worker, burst, until

PATIENCE_SECONDS = 30.0


def get(url: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


async def aget(url: str) -> tuple[int, dict[str, Any]]:
    return await asyncio.to_thread(get, url)


async def registered(app: App) -> WorkerInfo:
    """The worker of this test, once the store knows it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await app.store.list_workers()):
            await asyncio.sleep(0.005)
    return found[0]


async def place(app: App) -> str:
    """http://host:port of the worker."""
    url = (await registered(app)).health
    assert url is not None
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture
def app(app: App) -> App:
    @app.job
    async def nothing() -> None: ...

    return app


def test_a_worker_answers_under_the_address_that_it_registered(app: App) -> None:
    async def story() -> None:
        worker = await registered(app)
        assert worker.health is not None
        assert worker.health.endswith("/ready?worker=w%3A1")
        assert await aget(worker.health) == (200, {"worker": "w:1", "ready": True})
        base = await place(app)
        assert await aget(f"{base}/live") == (200, {"worker": "w:1", "live": True})
        assert (await aget(f"{base}/live?worker=w:2"))[0] == 404
        status, said = await aget(f"{base}/health")
        assert (status, said["status"], said["details"]["active_workers"]) == (200, "healthy", 1)

    beside_worker(app, story, worker_id="w:1")


def test_what_is_enough_is_said_by_its_settings(app: App) -> None:
    async def story() -> None:
        status, said = await aget(f"{await place(app)}/health")
        assert (status, said["status"]) == (200, "degraded")

    beside_worker(app, story, health_limits=Limits(min_workers=2))


def test_it_ends_with_the_worker(app: App) -> None:
    bases: list[str] = []

    async def story() -> None:
        bases.append(await place(app))

    beside_worker(app, story)
    with pytest.raises(urllib.error.URLError, match="refused"):
        get(f"{bases[0]}/live")
    assert not [one for one in threading.enumerate() if one.name.startswith("penstock-health")]


def test_off_serves_and_registers_nothing(app: App) -> None:
    async def story() -> None:
        assert (await registered(app)).health is None
        assert not [one for one in threading.enumerate() if one.name == "penstock-health"]

    beside_worker(app, story, health="off")


def test_a_port_that_is_taken_ends_the_second_worker_before_it_registers(app: App) -> None:
    async def story() -> None:
        taken = (await place(app)).removeprefix("http://")
        with pytest.raises(ConfigError, match="another program listens on this port"):
            await app._worker({}, {"health": taken, "worker_id": "second"}).run()
        assert [worker.id for worker in await app.store.list_workers()] == ["first"]

    beside_worker(app, story, worker_id="first")


def test_a_blocked_loop_is_not_ready_and_alive(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LOOP_SECONDS_LATE", 0.3)
    answers: dict[str, tuple[int, dict[str, Any]]] = {}
    asked = threading.Event()

    def ask(base: str) -> None:
        """From outside of the loop, as a probe does."""
        end = time.monotonic() + PATIENCE_SECONDS
        while get(f"{base}/ready")[0] == 200 and time.monotonic() < end:
            time.sleep(0.01)
        answers.update({path: get(base + path) for path in ("/ready", "/live")})
        asked.set()

    @app.job
    async def blocks() -> None:
        asked.wait(PATIENCE_SECONDS)

    async def story() -> None:
        base = await place(app)
        threading.Thread(target=ask, args=(base,)).start()
        job = await blocks.aenqueue()
        await job.aresult(timeout=PATIENCE_SECONDS)
        status, said = answers["/ready"]
        assert (status, "its event loop has been blocked for" in said["reason"]) == (503, True)
        assert answers["/live"][0] == 200
        assert (await aget(f"{base}/ready"))[0] == 200

    beside_worker(app, story)


def test_a_worker_whose_heartbeat_is_not_stored_is_not_ready_and_alive(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = False
    beat = app.store.heartbeat_worker

    def sometimes(params: Any) -> Any:
        if away:
            raise StoreUnavailable("no route to the server; is it running?")
        return beat(params)

    monkeypatch.setattr(app.store, "heartbeat_worker", sometimes)

    async def story() -> None:
        nonlocal away
        base = await place(app)
        assert (await aget(f"{base}/ready"))[0] == 200
        away = True
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await aget(f"{base}/ready"))[0] == 200:
                await asyncio.sleep(0.01)
        assert (await aget(f"{base}/ready"))[1]["reason"] == "no route to the server; is it running?"
        assert (await aget(f"{base}/live"))[0] == 200
        status, said = await aget(f"{base}/health")
        assert (status, said["checks"][0]["message"]) == (503, "no route to the server")
        away = False
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await aget(f"{base}/ready"))[0] != 200:
                await asyncio.sleep(0.01)

    beside_worker(app, story, heartbeat_interval=0.05)


def test_a_worker_that_stops_is_not_ready_and_alive_until_it_has_stopped(app: App) -> None:
    begun, free = asyncio.Event(), asyncio.Event()
    answers: list[tuple[int, dict[str, Any]]] = []

    @app.job
    async def waits() -> None:
        begun.set()
        await free.wait()

    async def main() -> None:
        worker = app._worker({}, {})
        running = asyncio.ensure_future(worker.run())
        await waits.aenqueue()
        await asyncio.wait_for(begun.wait(), PATIENCE_SECONDS)
        base = await place(app)
        worker.stop()
        answers.extend([await aget(f"{base}/ready"), await aget(f"{base}/live")])
        free.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)

    asyncio.run(main())
    assert [status for status, _ in answers] == [503, 200]
    assert "it is stopping" in answers[0][1]["reason"]


def test_a_look_at_the_store_does_not_outlast_the_worker(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that hangs while it is looked at must not keep the process."""
    monkeypatch.setattr(health_endpoint, "CLOSE_SECONDS_MAX", 0.05)
    asked, free = threading.Event(), threading.Event()
    count = app.store.count_waiting

    def hang(params: Any) -> Any:
        if threading.current_thread().name == "penstock-health-reading":
            asked.set()
            free.wait(PATIENCE_SECONDS)
        return count(params)

    monkeypatch.setattr(app.store, "count_waiting", hang)

    async def story() -> None:
        base = await place(app)
        threading.Thread(target=lambda: _ask_in_vain(f"{base}/health"), daemon=True).start()
        await until(asked.is_set, "the store is looked at")

    try:
        beside_worker(app, story)
    finally:
        free.set()
    for left in [one for one in threading.enumerate() if one.name == "penstock-health-reading"]:
        left.join(PATIENCE_SECONDS)


def _ask_in_vain(url: str) -> None:
    try:
        get(url)
    except OSError:
        pass  # The worker has hung up.


@pytest.mark.parametrize(
    ("listens", "resolved", "expected"),
    [
        ("127.0.0.1:0", "10.1.2.3", "127.0.0.1"),
        ("0.0.0.0:0", "10.1.2.3", "10.1.2.3"),
        ("0.0.0.0:0", None, None),
    ],
)
def test_the_address_that_others_are_told(
    app: App, monkeypatch: pytest.MonkeyPatch, listens: str, resolved: str | None, expected: str | None
) -> None:
    def resolve(name: str) -> str:
        if resolved is None:
            raise OSError("unknown host")
        return resolved

    monkeypatch.setattr(socket, "gethostbyname", resolve)

    async def story() -> None:
        url = (await registered(app)).health
        assert (url and urlsplit(url).hostname) == expected

    beside_worker(app, story, health=listens)


def test_a_burst_is_served_like_any_other(app: App) -> None:
    @app.job
    async def looks() -> int:
        return (await aget(f"{await place(app)}/live"))[0]

    job = looks.enqueue()
    burst(app)
    assert job.result(timeout=0) == 200
