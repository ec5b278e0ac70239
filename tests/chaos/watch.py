"""Looks at what must hold between the rows of the store (`penstock doctor --deep`) again and again during a run.

Under load and harm a look may fail: the server is down, or the file is somebody else's for a moment. What it finds
twice in a row is broken, also if it would be mended before the end.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from penstock import PenstockError
from penstock.engines import open_store
from penstock.store.contract import CheckStore, Finding, SqlStore
from tests.chaos.actors import PATIENCE_SECONDS, Broken
from tests.chaos.places import Place

EVERY_SECONDS = 1.0
INVARIANTS = frozenset({"integrity", "jobs", "workflows"})
"""What the findings are called that are about the rows; the others are about the machine, which is being harmed."""


class Watch:
    """A thread with a handle of its own on the store, from `with` to its end."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._over = threading.Event()
        self._last: set[str] = set()
        self._store: SqlStore | None = None
        self._address = ""
        self._thread = threading.Thread(target=self._look_again_and_again, name="watch", daemon=True)
        self.looks = 0
        self.found: list[str] = []
        """What stayed."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(PATIENCE_SECONDS)
        if self._thread.is_alive():
            self.found.append("a look never came to its end")

    def check(self) -> None:
        if self.found:
            raise Broken(f"of the looks at the store while it was in use: {self.found[0]}")

    def _look_again_and_again(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            try:
                self.note(self._open().check_store(CheckStore(deep=True)).wait())
            except PenstockError:
                self._last = set()
                self._close()
            except Exception as error:
                self.found.append(f"a look failed: {error!r}")
        self._close()

    def note(self, findings: list[Finding]) -> None:
        """The numbers and the examples in the words may change from look to look."""
        self.looks += 1
        wrong = {
            one.message.partition(" × ")[2].partition(", such as ")[0] or one.message: f"{one.name}: {one.message}"
            for one in findings
            if one.level != "ok" and one.name in INVARIANTS
        }
        self.found += [said for words, said in wrong.items() if words in self._last]
        self._last = set(wrong)

    def _open(self) -> SqlStore:
        """The address may change: to a server that took over, to a database that was restored."""
        if self._store is None or self._address != self._place.address():
            self._close()
            self._address = self._place.address()
            self._store = open_store(self._address)
        return self._store

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
