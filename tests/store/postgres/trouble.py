"""Apps and workers on a server that is about to have a bad day, and what to look at afterwards."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from penstock import App, JobHandle
from penstock.domain.errors import StoreError
from penstock.domain.job import FINAL
from penstock.store import contract as p
from tests.postgres.server import Server

PATIENCE_SECONDS = 60.0
BRISK: dict[str, Any] = {
    "heartbeat_interval": 0.5, "recovery_interval": 0.5, "leader_lease": 1.0, "poll_interval": 0.05,
}  # fmt: skip


class Place:
    """A schema of its own on a server, with an app whose job writes down what it was called with."""

    def __init__(self, server: Server, port: int | None = None, **options: str) -> None:
        self.server = server
        self.schema = options.setdefault("schema", f"trouble_{uuid.uuid4().hex}")
        self._options = options
        self.ran: Counter[int] = Counter()
        self.pause = 0.0
        self.apps: list[App] = []
        self.app = self.open(port)

    def url(self, port: int | None = None, **options: str) -> str:
        """Its address, by way of another port if there is something between."""
        address = self.server.url(**{**self._options, **options})
        return address.replace(f":{self.server.port}/", f":{port or self.server.port}/")

    def open(self, port: int | None = None, **options: str) -> App:
        """One more app of the same store, as another process would have."""
        app = App(self.url(port, **options))

        @app.job(name="note", attempts=1)
        async def note(number: int) -> int:
            self.ran[number] += 1
            await asyncio.sleep(self.pause)
            return number

        self.apps.append(app)
        return app

    def close(self) -> None:
        for app in self.apps:
            app.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement of the superuser's in the schema of the store."""
        with self.server.connect(options=f"-c search_path={self.schema} -c lock_timeout=30s") as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def counts(self) -> dict[str, int]:
        """How many rows the tables hold that say where jobs are."""
        names = ("waiting", "lease", "outcome", "job")
        [row] = self.rows("SELECT " + ", ".join(f"(SELECT count(*) FROM {name})" for name in names))
        return dict(zip(names, row, strict=True))

    def backends(self, what: str = "true") -> list[int]:
        """The server's processes that serve penstock in this schema's apps."""
        return [
            pid
            for (pid,) in self.server.execute(
                f"SELECT pid FROM pg_stat_activity WHERE application_name = 'penstock' AND ({what}) ORDER BY pid"
            )
        ]

    def kill(self, what: str = "true") -> int:
        """End those processes, as an administrator would. Answers how many there were."""
        found = self.server.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'penstock' AND ({what})"
        )
        return len(found)


@contextmanager
def new_place(server: Server, port: int | None = None, **options: str) -> Iterator[Place]:
    place = Place(server, port, **options)
    try:
        yield place
    finally:
        place.close()
        with suppress(Exception):
            server.execute(f"DROP SCHEMA IF EXISTS {place.schema} CASCADE")


@asynccontextmanager
async def working(app: App, **settings: Any) -> AsyncIterator[asyncio.Task[bool]]:
    """A worker beside the block, which is stopped in order at its end."""
    worker = app._worker({}, {**BRISK, **settings})
    running = asyncio.ensure_future(worker.run())
    try:
        yield running
    finally:
        worker.stop()
        try:
            if not running.done():
                await asyncio.wait_for(asyncio.shield(running), PATIENCE_SECONDS)
        except TimeoutError:
            worker.stop()
            running.cancel()
            await asyncio.wait({running})
            raise


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition that has no event of its own; it is asked in a thread, since it may block."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await asyncio.to_thread(condition):
            await asyncio.sleep(0.02)


async def enqueue_surely(app: App, number: int, job_id: str) -> JobHandle[Any]:
    """Enqueue again and again with one id until the store has it, as a careful client would."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                return await app.aenqueue("note", {"number": number}, id=job_id)
            except StoreError:
                await asyncio.sleep(0.05)


async def all_final(jobs: list[JobHandle[Any]]) -> list[Any]:
    """Wait until all have ended, by whatever the store says as soon as it says something."""
    ended: list[Any] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        for job in jobs:
            while True:
                with suppress(StoreError):
                    read = await job.aread()
                    if read.state in FINAL:
                        ended.append(read)
                        break
                await asyncio.sleep(0.02)
    return ended


def new_job(place: Place, number: int = 0, **fields: Any) -> p.NewJob:
    spec = p.JobSpec(**{"type": "note", **fields})
    return p.NewJob(place.app.client.new_id(), f'{{"number":{number}}}', spec)


async def within(call: Any, seconds: float = 30.0) -> Any:
    """An answer or an error, but not silence. The limit is only a deadline."""
    async with asyncio.timeout(seconds):
        return await call
