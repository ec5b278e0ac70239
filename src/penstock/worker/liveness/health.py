"""What a worker answers when it is asked over HTTP how it is (A6). The server is in worker/liveness/health_server.py.

- /live: this process can do its work. Whether the store answers does not matter: it comes back without a restart. What
  does matter is the event loop, but only after LOOP_SECONDS_DEAD. The heartbeat has a thread of its own, so a worker
  whose loop never turns again keeps its jobs for ever: nothing but a restart helps. A loop that turns again after a
  while is a mistake in a handler, which the watchdog names after a second; a restart would cost the attempts of all its
  neighbours, and the next worker would be blocked just the same. The bound is the default timeout of a job: whatever
  has blocked the loop for that long should have been stopped by then, and only the loop could have done it.
- /ready: it takes jobs now: registered, not stopping, its loop turns, the store answered its last heartbeat, and its
  slots are not all taken by threads that were given up. Probes should ask for this: it notices a stuck loop within
  seconds.
- /health: the judgement of the store with all its workers (O2), never a reason to restart this one.
- /metrics: what Prometheus reads (O1), see worker/liveness/own_metrics.py.

All but the last name the worker, and `?worker=ID` asks for this one: after a restart its port may belong to another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

import msgspec

from penstock.domain.clock import Clock
from penstock.domain.duration import format_duration
from penstock.observe.health import Facts, Health, Limits, judge
from penstock.observe.reading import Reading
from penstock.store.contract import Store
from penstock.worker.liveness.http_answer import Answer

LOOP_SECONDS_LATE = 5.0
LOOP_SECONDS_DEAD = 300.0
LOOK_SECONDS = 2.0
FRESH_SECONDS = 1.0
REST_FACTOR = 10.0
"""After a look the store is left alone for ten times as long as that took: at most a tenth of the time is spent."""
PATHS = ("/live", "/ready", "/health", "/metrics")


@dataclass(frozen=True, slots=True)
class Pulse:
    """What a worker knows of itself, asked from other threads at any time. None of these may wait for anything."""

    worker_id: str
    loop_age: Callable[[], float]
    """Seconds since the event loop turned."""
    registered: Callable[[], bool]
    stopping: Callable[[], bool]
    store_trouble: Callable[[], str | None]
    """Why the store cannot be counted on at the moment, if so."""
    jam: Callable[[], str | None] = lambda: None
    """Why it cannot take jobs of some types, if so."""


class HealthAnswer(msgspec.Struct, frozen=True):
    """A status of HTTP, and a document to be sent as JSON."""

    status: HTTPStatus
    document: dict[str, Any]

    @property
    def content_type(self) -> str:
        return "application/json"

    @property
    def body(self) -> bytes:
        return msgspec.json.encode(self.document) + b"\n"


class HealthAnswers:
    """What is said on which path. `look` gives the health of the store, soon, and `metrics` what is counted here."""

    def __init__(self, pulse: Pulse, look: Callable[[], Health], metrics: Callable[[], Answer]) -> None:
        self._pulse = pulse
        self._look = look
        self._paths: dict[str, Callable[[], Answer]] = dict(
            zip(PATHS, (self._live, self._ready, self._health, metrics), strict=True)
        )

    def __call__(self, target: str) -> Answer:
        """The answer to GET `target`."""
        path, _, query = target.partition("?")
        if path not in self._paths:
            return self._answer(HTTPStatus.NOT_FOUND, error=f"there is nothing here; ask for {', '.join(PATHS)}")
        if self._pulse.worker_id not in parse_qs(query).get("worker", [self._pulse.worker_id]):
            return self._answer(HTTPStatus.NOT_FOUND, error="this is another worker")
        return self._paths[path]()

    def _live(self) -> HealthAnswer:
        age = self._pulse.loop_age()
        if age > LOOP_SECONDS_DEAD:
            return self._answer(HTTPStatus.SERVICE_UNAVAILABLE, live=False, reason=_blocked(age))
        return self._answer(HTTPStatus.OK, live=True)

    def _ready(self) -> HealthAnswer:
        reason = self._not_ready()
        if reason is not None:
            return self._answer(HTTPStatus.SERVICE_UNAVAILABLE, ready=False, reason=reason)
        return self._answer(HTTPStatus.OK, ready=True)

    def _not_ready(self) -> str | None:
        if self._pulse.stopping():
            return "it is stopping and takes no more jobs"
        if not self._pulse.registered():
            return "it is not registered in the store"
        age = self._pulse.loop_age()
        return _blocked(age) if age > LOOP_SECONDS_LATE else self._pulse.store_trouble() or self._pulse.jam()

    def _health(self) -> HealthAnswer:
        health = self._look()
        status = HTTPStatus.SERVICE_UNAVAILABLE if health.status == "unhealthy" else HTTPStatus.OK
        return self._answer(status, **msgspec.to_builtins(health))

    def _answer(self, status: HTTPStatus, /, **document: Any) -> HealthAnswer:
        return HealthAnswer(status, {"worker": self._pulse.worker_id, **document})


def _blocked(age: float) -> str:
    return f"its event loop has been blocked for {format_duration(round(age, 1))}"


class HealthLook:
    """The health of the store for whoever asks: read once at a time, and not again while it is fresh.

    A store that is known to be in trouble is not asked at all, and one that hangs is waited for once, not by everyone.
    """

    def __init__(self, store: Store, clock: Clock, limits: Limits, trouble: Callable[[], str | None]) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits
        self._trouble = trouble
        self._lock = threading.Lock()
        self._reading: Reading | None = None

    def __call__(self) -> Health:
        trouble = self._trouble()
        if trouble is not None:
            return judge(Facts(error=trouble), self._limits)
        with self._lock:
            if self._reading is None or self._is_old(self._reading):
                known = None if self._reading is None else self._reading.durability
                self._reading = Reading(lambda: self._store, self._clock, known)
            reading = self._reading
        left = reading.begun + LOOK_SECONDS - self._clock.monotonic()
        facts = reading.wait(max(0.0, left))
        if facts.late is not None:
            facts.late = LOOK_SECONDS
        return judge(facts, self._limits)

    def _is_old(self, reading: Reading) -> bool:
        """One that has not ended is never replaced: there is one at a time."""
        if reading.ended is None:
            return False
        fresh = max(FRESH_SECONDS, REST_FACTOR * (reading.ended - reading.begun))
        return self._clock.monotonic() - reading.ended > fresh

    def end(self, timeout: float) -> None:
        """Wait for a look that is under way, so that the store can be closed."""
        with self._lock:
            reading = self._reading
        if reading is not None:
            reading.wait(timeout)
