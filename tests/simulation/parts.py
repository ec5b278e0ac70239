"""The parts of a worker that are threads in real life, as tasks on its simulated loop."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from penstock.domain.errors import PenstockError
from penstock.domain.registry import Registry
from penstock.worker.liveness.heartbeat import HeartbeatThread
from penstock.worker.worker import Parts

log = logging.getLogger("penstock.worker")


class LoopHeartbeat(HeartbeatThread):
    """Beats from a task instead of a thread; what it says and concludes is the real one's."""

    _task: asyncio.Task[None] | None = None

    def start(self, session: int) -> None:
        self.session = session
        self._task = asyncio.get_running_loop().create_task(self._keep_beating())

    def stop(self) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.cancel()

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            session = self.session
            try:
                self._heard(session, await self._beat(session))
            except PenstockError as error:
                log.error("heartbeat not stored: %s", error)


class NoWatchdog:
    """Nothing blocks a simulated loop."""

    def __init__(self, registry: Registry) -> None: ...

    def close(self) -> None: ...


def on_the_loop() -> Parts:
    watchdog: Any = NoWatchdog
    return Parts(heartbeat=LoopHeartbeat, watchdog=watchdog)
