"""Puts together what serves a worker's health, and says under which address others can ask for it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from penstock.domain.clock import Clock
from penstock.store.contract import Store
from penstock.worker.liveness.health import HealthAnswers, HealthLook, Pulse
from penstock.worker.liveness.health_address import OFF, joined
from penstock.worker.liveness.http_answer import Answer
from penstock.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from penstock.worker.liveness.health_server import HealthServer

EVERYWHERE = ("0.0.0.0", "::")
CLOSE_SECONDS_MAX = 1.0


class HealthEndpoint:
    """The health of one worker, served from when it is made until it is closed; nothing if settings.health is off."""

    def __init__(
        self, settings: WorkerSettings, store: Store, clock: Clock, pulse: Pulse, metrics: Callable[[], Answer]
    ) -> None:
        self._look = HealthLook(store, clock, settings.health_limits, pulse.store_trouble)
        self._worker_id = pulse.worker_id
        self._server: HealthServer | None = None
        if settings.health != OFF:
            from penstock.worker.liveness.health_server import HealthServer  # Not loaded where nobody asks.

            self._server = HealthServer(settings.health, HealthAnswers(pulse, self._look, metrics))
            self._server.start()

    @property
    def url(self) -> str | None:
        """Where to ask whether this worker, and no other, is ready; None if it is not known how others reach it."""
        if self._server is None:
            return None
        host, port = self._server.address
        reached = _own_address() if host in EVERYWHERE else host
        return reached and f"http://{joined(reached, port)}/ready?worker={quote(self._worker_id, safe='')}"

    def close(self) -> None:
        """Nobody is answered any more, and the store is no longer asked, or not for long."""
        if self._server is not None:
            self._server.close()
        self._look.end(CLOSE_SECONDS_MAX)


def _own_address() -> str | None:
    """How this machine's own name resolves: in a container that is its address in the network."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return None
