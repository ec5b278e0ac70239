"""Looks at a store again and again, in a thread of its own: keys are heard also while it does not answer.

A store that fails is opened anew before the next look: its file may be another one by then.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from penstock.cli.top.screen import Trouble
from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import StoreError
from penstock.observe.redaction import told
from penstock.observe.top.look import Look, look

if TYPE_CHECKING:
    from penstock.store.contract import Sample, SqlStore

LOOK_SHARE = 10
"""Looking costs something: no more than a tenth of the time is spent on it."""
BEFORE_SECONDS = 60.0
"""How fast jobs come is seen over so long, at most."""
LATE_SECONDS = 3.0
"""A look that takes longer is told."""
END_SECONDS = 1.0


class Looks:
    """The newest look and its moment, or why there is none. `bell` can be read whenever there is something new."""

    def __init__(self, find: Callable[[], SqlStore], first: Look, interval: float) -> None:
        self._find, self._interval = find, interval
        self._before = Before()
        self.newest, self.taken = self._before.known(first), time.monotonic()
        self.failure: BaseException | None = None
        self.paused = False
        self._error: str | None = None
        self._failing_since: float | None = None
        self._begun: float | None = None
        self._took = 0.0
        self._ended = threading.Event()
        self.bell, self._rings = os.pipe()
        self._thread = threading.Thread(target=self._run, name="penstock-top", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> Trouble | None:
        now, begun = time.monotonic(), self._begun
        if self._failing_since is not None:
            return Trouble(now - self._failing_since, self._error)
        late = begun is not None and now - begun > LATE_SECONDS
        return Trouble(now - begun, None) if late and begun is not None else None

    def end(self) -> None:
        """A look that hangs is not waited for: it ends with this process."""
        self._ended.set()
        self._thread.join(END_SECONDS)
        if not self._thread.is_alive():
            os.close(self.bell)
            os.close(self._rings)

    def _run(self) -> None:
        store: SqlStore | None = None
        while not self._ended.wait(rest(self._interval, self._took)):
            if self.paused:
                continue
            self._begun = time.monotonic()
            try:
                store = store or self._find()
                self._looked(look(store))
            except StoreError as error:
                self._failed(error)
                _close(store)
                store = None
            except BaseException as error:
                self.failure = error
                self._ended.set()
            self._took, self._begun = time.monotonic() - self._begun, None
            os.write(self._rings, b".")
        _close(store)

    def _looked(self, found: Look) -> None:
        self.newest, self.taken = self._before.known(found), time.monotonic()
        self._error = self._failing_since = None

    def _failed(self, error: StoreError) -> None:
        self._error = told(error)
        if self._failing_since is None:
            self._failing_since = self._begun


def rest(interval: float, took: float) -> float:
    """How long to leave the store alone after a look that took so long."""
    return max(interval, (LOOK_SHARE - 1) * took)


class Before:
    """The samples of the last minute, the oldest of which is what the newest is compared with."""

    def __init__(self) -> None:
        self._seen: list[Sample] = []

    def known(self, found: Look) -> Look:
        """The look with what was counted before."""
        sample = found.sample
        if sample is None:
            return found
        seen = [one for one in self._seen if 0 < sample.at - one.at <= BEFORE_SECONDS * MICROSECONDS]
        self._seen = [*seen, sample]
        return msgspec.structs.replace(found, before=seen[0]) if seen else found


def _close(store: SqlStore | None) -> None:
    if store is not None:
        with contextlib.suppress(StoreError):
            store.close()
