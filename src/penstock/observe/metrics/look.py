"""A look at the store for its metrics: one at a time, in a thread of its own, and not again while it is fresh.

Whoever asks waits for a moment at most, and then gets what was seen last: a store that hangs must not hang a scrape.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from penstock.domain.clock import Clock
from penstock.observe.metrics.of_store import StoreFacts, StoreShown
from penstock.observe.metrics.shown import Shown
from penstock.observe.redaction import told
from penstock.store.contract import Store

FRESH_SECONDS = 5.0
REST_FACTOR = 10.0
"""After a look the store is left alone for ten times as long as that took."""
WAIT_SECONDS = 0.5

log = logging.getLogger("penstock.metrics")


class StoreLook:
    """What is shown of the store by the one that `leads`, and nothing by others: else a sum would count it twice."""

    def __init__(self, store: Store, clock: Clock, leads: Callable[[], bool]) -> None:
        self._store = store
        self._clock = clock
        self._leads = leads
        self._show = StoreShown()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again_at = 0.0
        self._seen: tuple[StoreFacts, float] | None = None

    def __call__(self) -> Shown:
        if not self._leads():
            self._seen = None  # What it knew when it led is of the past.
            return {}
        self._look().join(WAIT_SECONDS)
        seen = self._seen
        return {} if seen is None else self._show(seen[0], self._clock.monotonic() - seen[1])

    def end(self, timeout: float) -> None:
        """Wait for a look that is under way, so that the store can be closed."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)

    def _look(self) -> threading.Thread:
        with self._lock:
            if self._thread is None or (not self._thread.is_alive() and self._clock.monotonic() >= self._again_at):
                self._thread = threading.Thread(target=self._read, name="penstock-metrics-reading", daemon=True)
                self._thread.start()
            return self._thread

    def _read(self) -> None:
        begun = self._clock.monotonic()
        try:
            store = self._store
            facts = StoreFacts(store.read_sample().wait(), store.list_workers().wait(), store.read_clock().wait())
            self._seen = facts, self._clock.monotonic()
        except Exception as error:
            log.debug("the store could not be looked at for metrics: %s", told(error))
        finally:
            ended = self._clock.monotonic()
            self._again_at = ended + max(FRESH_SECONDS, REST_FACTOR * (ended - begun))
