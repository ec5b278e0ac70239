"""The metrics of this process: put together for whoever asks, and served where the settings say, or to a supervisor.

A worker shows what it has counted itself, also while its store is away; whoever leads shows the store's gauges too. All
of it is asked for from other threads, so that a blocked event loop does not hide what it does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from penstock.domain.clock import Clock
from penstock.observe.figures.recorder import Recorder
from penstock.observe.metrics.counters import Counters
from penstock.observe.metrics.look import StoreLook
from penstock.observe.metrics.of_worker import Now, of_worker
from penstock.observe.metrics.shown import Shown
from penstock.store.contract import Store
from penstock.worker.liveness.health_address import OFF
from penstock.worker.liveness.http_answer import Answer, TextAnswer
from penstock.worker.liveness.metrics_channel import MetricsChannel
from penstock.worker.settings import WorkerSettings

PATH = "/metrics"
CLOSE_SECONDS_MAX = 1.0

log = logging.getLogger("penstock.metrics")


class OwnMetrics:
    """Of one worker or coordinator. `now` answers how it is, from any thread, and waits for nothing."""

    def __init__(self, settings: WorkerSettings, store: Store, clock: Clock, recorder: Recorder, counters: Counters,
                 now: Callable[[], Now]) -> None:  # fmt: skip
        self._prefix = settings.metrics_prefix
        self._recorder = recorder
        self._counters = counters
        self._now = now
        self._look = StoreLook(store, clock, lambda: now().leads)
        self._channel = None
        if settings.metrics_channel is not None:
            self._channel = MetricsChannel(settings.metrics_channel, self.shown)
        self._page = MetricsPage(settings.metrics, self._prefix, self.shown)

    def shown(self) -> Shown:
        return {**of_worker(self._recorder.total(), self._now()), **self._counters.shown(), **self._look()}

    def answer(self) -> Answer:
        return exposed(self.shown(), self._prefix)

    def close(self) -> None:
        """When all is counted: a supervisor is told of it once more, and nobody is answered any more."""
        self._page.close()
        if self._channel is not None:
            self._channel.close()
        self._look.end(CLOSE_SECONDS_MAX)


class MetricsPage:
    """Metrics by themselves, at an address of their own, from when it is made until it is closed."""

    def __init__(self, place: str, prefix: str, shown: Callable[[], Shown]) -> None:
        self._prefix = prefix
        self._shown = shown
        self._server = None
        if place != OFF:
            from penstock.worker.liveness.health_server import HealthServer  # Not loaded where nobody asks.

            self._server = HealthServer(place, self._answer, "metrics.address", "--metrics")
            self._server.start()
            log.info("metrics are served at http://%s%s", self._server.place, PATH)

    def _answer(self, target: str) -> Answer:
        if target.partition("?")[0] != PATH:
            text = f"there is nothing here; ask for {PATH}\n".encode()
            return TextAnswer(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", text)
        return exposed(self._shown(), self._prefix)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


def exposed(shown: Shown, prefix: str) -> Answer:
    from penstock.observe.metrics.exposition import CONTENT_TYPE, expose  # Not loaded before somebody asks.

    return TextAnswer(HTTPStatus.OK, CONTENT_TYPE, expose(shown, prefix))
