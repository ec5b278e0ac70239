"""Asks workers over HTTP whether they are alive: heartbeats come from a thread, and may outlive the rest (SPEC A6)."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

from penstock.coordinator.settings import CoordinatorSettings
from penstock.observe.logs import fields
from penstock.store.contract import Store
from penstock.store.params import MarkWorkers, WorkerInfo

ANSWER_SECONDS_MAX = 2.0
MISSES_MAX = 2
AT_ONCE = 20
LOOPBACK = ("127.", "localhost", "::1", "[::1]")

Probe = Callable[[str], Awaitable[bool]]

log = logging.getLogger("penstock.coordinator")


class Probes:
    name = "probe the workers"
    judges = True

    def __init__(self, store: Store, settings: CoordinatorSettings, probe: Probe | None = None) -> None:
        self._store = store
        self._probe = probe or answers
        self.interval = settings.probe_interval
        self._misses: dict[int, int] = {}
        self._answered: set[int] = set()
        """Who has ever answered here: an address that cannot be reached from here says nothing about its worker."""

    async def do(self, term: int) -> None:
        workers = [one for one in await self._store.list_workers() if _is_probed(one)]
        gate = asyncio.Semaphore(AT_ONCE)
        alive = await asyncio.gather(*(self._ask(worker, gate) for worker in workers))
        answers = dict(zip([worker.session for worker in workers], alive, strict=True))
        self._misses = {one: 0 if well else self._misses.get(one, 0) + 1 for one, well in answers.items()}
        self._answered = {one for one, well in answers.items() if well or one in self._answered}
        failing = [one for one in workers if not one.failing and self._is_missed(one.session)]
        well = [one for one in workers if one.failing and answers[one.session]]
        if failing or well:
            sessions = [one.session for one in failing], [one.session for one in well]
            await self._store.mark_workers(MarkWorkers(*sessions, term))
        for one in failing:
            log.warning("worker %s does not answer probes at %s: inactive", one.id, one.health,
                        extra=fields("worker.inactive", worker_id=one.id))  # fmt: skip
        for one in well:
            log.info("worker %s answers probes again: active", one.id,
                     extra=fields("worker.active", worker_id=one.id))  # fmt: skip

    def _is_missed(self, session: int) -> bool:
        return session in self._answered and self._misses[session] >= MISSES_MAX

    async def _ask(self, worker: WorkerInfo, gate: asyncio.Semaphore) -> bool:
        assert worker.health is not None
        async with gate:
            return await self._probe(worker.health)


def _is_probed(worker: WorkerInfo) -> bool:
    """Whose heartbeat is recent, and who can be reached from here."""
    if worker.health is None or worker.silent > worker.stale_after:
        return False
    if worker.status != "active" and not worker.failing:
        return False
    return worker.host == socket.gethostname() or not worker.health.split("//")[-1].startswith(LOOPBACK)


async def answers(address: str) -> bool:
    """Whether a GET of this address is answered with 200 in time."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return await _get(address)
    except (OSError, TimeoutError, ValueError):
        return False


async def _get(address: str) -> bool:
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
        line = await reader.readline()
        return line.split(b" ")[1:2] == [b"200"]
    finally:
        writer.close()
