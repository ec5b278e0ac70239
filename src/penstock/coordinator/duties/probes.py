"""Asks workers over HTTP whether they are alive: heartbeats come from a thread, and may outlive the rest (A6)."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

from penstock.coordinator.settings import CoordinatorSettings
from penstock.observe.logs import fields
from penstock.store.contract import MarkWorkers, Store, WorkerInfo

ANSWER_SECONDS_MAX = 2.0
MISSES_MAX = 2
MARKED_PROBES = 3
"""A mark lasts for so many probes after the last that has failed: by then another leader has had its chance."""
AT_ONCE = 20
LOOPBACK = ("127.", "localhost", "::1", "[::1]")

Probe = Callable[[str], Awaitable[bool | None]]
_MEANINGS = {b"200": True, b"503": False}
"""What a worker says of itself. Another program may have its address by now, and says something else."""

log = logging.getLogger("penstock.coordinator")


class Probes:
    name = "probe the workers"
    judges = True
    makes_work = False

    def __init__(self, store: Store, settings: CoordinatorSettings, probe: Probe | None = None) -> None:
        self._store = store
        self._probe = probe or answers
        self.interval = settings.probe_interval
        self._misses: dict[int, int] = {}
        self._answered: set[int] = set()
        """Who has ever answered here: an address that cannot be reached from here says nothing about its worker."""
        self._told: set[int] = set()
        """Of whom it was said that they cannot be reached."""

    async def do(self, term: int) -> None:
        workers = [one for one in await self._store.list_workers() if _is_probed(one)]
        gate = asyncio.Semaphore(AT_ONCE)
        answers = await asyncio.gather(*(self._ask(worker, gate) for worker in workers))
        self._note({worker.session: answer for worker, answer in zip(workers, answers, strict=True)})
        missed = [one for one in workers if self._misses[one.session] >= MISSES_MAX]
        failing = [one for one in missed if one.session in self._answered]
        unreached = [one for one in missed if one.session not in self._answered and not one.failing]
        well = [one for one, answer in zip(workers, answers, strict=True) if answer and (one.failing or one.unreached)]
        if failing or unreached or well:
            # Those that are marked already are marked anew: a mark ends by itself when nobody does.
            lasts = MARKED_PROBES * (self.interval + ANSWER_SECONDS_MAX)
            marks = MarkWorkers(_sessions(failing), _sessions(well), term, _sessions(unreached), lasts)
            await self._store.mark_workers(marks)
        self._tell(failing, unreached, well)

    def _note(self, answers: dict[int, bool | None]) -> None:
        self._misses = {one: 0 if well else self._misses.get(one, 0) + 1 for one, well in answers.items()}
        self._answered = {one for one, well in answers.items() if well is not None or one in self._answered}
        self._told &= answers.keys() - self._answered

    def _tell(self, failing: list[WorkerInfo], unreached: list[WorkerInfo], well: list[WorkerInfo]) -> None:
        for one in failing:
            if not one.failing:
                log.warning("worker %s does not answer probes at %s: inactive", one.id, one.health,
                            extra=fields("worker.inactive", worker_id=one.id))  # fmt: skip
        for one in unreached:
            if one.session not in self._told:
                self._told.add(one.session)
                log.warning("worker %s cannot be reached at %s from %s: it is not judged by probes", one.id, one.health,
                            socket.gethostname(), extra=fields("worker.unreached", worker_id=one.id))  # fmt: skip
        for one in well:
            if one.failing:
                log.info("worker %s answers probes again: active", one.id,
                         extra=fields("worker.active", worker_id=one.id))  # fmt: skip

    async def _ask(self, worker: WorkerInfo, gate: asyncio.Semaphore) -> bool | None:
        assert worker.health is not None
        async with gate:
            return await self._probe(worker.health)


def _sessions(workers: list[WorkerInfo]) -> list[int]:
    return [one.session for one in workers]


def _is_probed(worker: WorkerInfo) -> bool:
    """Whose heartbeat is recent, and who can be reached from here."""
    if worker.health is None or worker.silent > worker.stale_after:
        return False
    if worker.status != "active" and not worker.failing:
        return False
    return worker.host == socket.gethostname() or not worker.health.split("//")[-1].startswith(LOOPBACK)


async def answers(address: str) -> bool | None:
    """Whether a GET of this address is answered with 200 in time; None if its worker does not answer at all."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return _MEANINGS.get(await _get(address))
    except (OSError, TimeoutError, ValueError):
        return None


async def _get(address: str) -> bytes:
    """The status of the answer."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
        line = await reader.readline()
        return b"".join(line.split(b" ")[1:2])
    finally:
        writer.close()
