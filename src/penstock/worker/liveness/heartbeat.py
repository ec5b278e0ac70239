"""Says that the worker is alive, from a thread of its own: a blocked event loop does not stop it.

Also the judge of whether the store has been reachable of late: a worker that could not write for a while
must not call others dead before they had time to be heard.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.domain.clock import Clock
from penstock.domain.errors import PenstockError
from penstock.observe.figures.recorder import Recorder
from penstock.observe.redaction import told
from penstock.observe.trouble import Trouble
from penstock.store.call import Call
from penstock.store.contract import Heartbeat as Beat, HeartbeatWorker, Page, Store, WorkerStatus

# Short enough that others, heard of one interval before the gap began, are not stale before it is noticed.
GAP_INTERVALS = 1.5

log = logging.getLogger("penstock.worker")


class HeartbeatThread:
    """Beats every `interval` seconds. `lost` is called when the store no longer knows the session."""

    def __init__(self, store: Store, clock: Clock, interval: float, lost: Callable[[int], None]) -> None:
        self._store = store
        self._clock = clock
        self._interval = interval
        self._lost = lost
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-heartbeat", daemon=True)
        self._last_us = clock.now_us()
        self._healthy_since = clock.monotonic()
        self._error: str | None = None
        self.telling = Trouble(log).part(passing=True)
        self.recorder: Recorder | None = None
        """Whose pages go with the beats."""
        self._page: Page | None = None
        self.session = 0
        self.status: WorkerStatus = "active"

    def start(self, session: int) -> None:
        self.session = session
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def trusted(self) -> bool:
        """Whether the store was writable without a gap for at least one interval, up to now."""
        return not self._gap() and self._clock.monotonic() - self._healthy_since >= self._interval

    def trouble(self) -> str | None:
        """Why the store cannot be counted on: the last beat was not stored, or one is overdue."""
        return self._error or ("the store has not answered a heartbeat in time" if self._gap() else None)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            session = self.session
            try:
                self._heard(session, self._beat(session).wait())
            except PenstockError as error:
                self._error = told(error)
                self.telling.failed("heartbeat not stored", error)

    def _beat(self, session: int) -> Call[Beat]:
        self._page = self.recorder.page() if self.recorder is not None else None
        return self._store.heartbeat_worker(HeartbeatWorker(session, self.status, self._page))

    def _heard(self, session: int, beat: Beat) -> None:
        if self.recorder is not None and self._page is not None:
            self.recorder.stored(self._page)
        self._error = None
        self.telling.worked()
        self._note_gap()
        if not beat.known and session == self.session and not self._stop.is_set():
            self._lost(session)

    def _note_gap(self) -> None:
        if self._gap():
            self._healthy_since = self._clock.monotonic()
        self._last_us = self._clock.now_us()

    def _gap(self) -> bool:
        """Wall time, because monotonic time stands still while the machine sleeps."""
        return self._clock.now_us() - self._last_us > GAP_INTERVALS * self._interval * 1e6
