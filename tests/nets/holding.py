"""Holding an operation in its midst: before a request to the server, at a place inside a statement, or by a row.

Nothing of the store's own code is touched. Requests are held on the wire; places are what statements pass on the
server (places.sql); rows are locked by a third session before the operation begins, so that it waits for them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.nets.wire import Wire
from tests.postgres.server import Server

FIRST, SECOND = "first", "second"
PATIENCE_SECONDS = 30.0
LOOK_SECONDS, LOOK_SECONDS_MAX = 0.001, 0.016
LOCKS = ("UPDATE", "KEY SHARE")
BEGINNING = ("BEGIN", "SET ", "SELECT set_config(", "SELECT pg_backend_pid")

_PLACE = "place: "
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)

_BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE application_name = %s AND wait_event_type = 'Lock' AND (%s::int IS NULL OR %s = ANY (pg_blocking_pids(pid)))
    AND cardinality(pg_blocking_pids(pid)) > 0
"""
_WAITING = """
SELECT application_name, state, wait_event_type, wait_event, pg_blocking_pids(pid)::text, left(query, 100)
FROM pg_stat_activity WHERE application_name IN ('first', 'second')
"""


@dataclass(frozen=True)
class Hold:
    """Where: before the request of this number, in it at the first such place, or at the rows of a table."""

    kind: Literal["request", "place", "rows"]
    number: int
    what: str

    @property
    def table(self) -> str:
        return self.what.split()[0 if self.kind == "rows" else -1]

    @property
    def ends(self) -> bool:
        """Whether the transaction is over with it."""
        return self.what in ("COMMIT", "ROLLBACK")

    def __str__(self) -> str:
        return {"request": "before request", "place": "in request", "rows": "rows"}[self.kind] + (
            f" {self.number}: {self.what}" if self.number else f" of {self.what}"
        )


class Doing:
    """A call in a thread of its own, with its answer or its error."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.answer: Any = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            self.answer = work()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()


class Keeper:
    """Holds whoever comes through its wire, once; and sees on the server who waits for whom."""

    def __init__(self, server: Server) -> None:
        self.wire = Wire(server.port, self._asked, self._noticed)
        self._hand, self._eye = server.connect(), server.connect()
        self._hold: Hold | None = None
        self._record: list[Hold] | None = None
        self._counting = False
        self._requests = 0
        self._reached, self._go = threading.Event(), threading.Event()

    def close(self) -> None:
        self.wire.close()
        self._hand.close()
        self._eye.close()

    # What an operation passes

    def record(self, work: Callable[[], Any]) -> list[Hold]:
        """Run it to its end, and answer all that it has passed, in order."""
        found: list[Hold] = []
        self._record = found
        self._begin()
        try:
            work()
        finally:
            self._record, self._counting = None, False
        return found

    def _begin(self) -> None:
        self._requests, self._counting = 0, True

    def _asked(self, text: str) -> None:
        if not self._counting or text.startswith(BEGINNING):
            return
        self._requests += 1
        if self._record is not None:
            self._record.append(Hold("request", self._requests, words(text)))
        if self._hold is None or self._hold.number != self._requests:
            return
        if self._hold.kind == "request":
            self._reached.set()
            self._go.wait(PATIENCE_SECONDS)
        elif self._hold.kind == "place":
            self._hand.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._hold.what])

    def _noticed(self, text: str) -> None:
        if self._record is not None and text.startswith(_PLACE):
            self._record.append(Hold("place", self._requests, text.removeprefix(_PLACE)))

    # Holding

    def hold(self, hold: Hold) -> None:
        """From now on. Whoever comes there stays there until it is released."""
        self._reached.clear()
        self._go.clear()
        self._begin()
        self._hold = hold
        self._hand.execute("BEGIN")
        if hold.kind == "rows":
            table, _, lock = hold.what.partition(" ")
            self._hand.execute(f"SELECT 1 FROM penstock.{table} FOR {lock}".encode())

    def release(self) -> None:
        self._hold, self._counting = None, False
        self._go.set()
        self._hand.execute("ROLLBACK")

    def wait_held(self, doing: Doing) -> bool:
        """Whether it is held; False when it has ended instead."""
        if self._hold is not None and self._hold.kind == "request":
            return self._wait(doing, self._reached.is_set)
        pid = self._hand.info.backend_pid
        return self._wait(doing, lambda: self._is_blocked(FIRST, pid))

    def wait_blocked(self, doing: Doing) -> bool:
        """Whether the second waits for a lock; False when it has ended instead."""
        return self._wait(doing, lambda: self._is_blocked(SECOND, None))

    def _wait(self, doing: Doing, holds: Callable[[], bool]) -> bool:
        for pause in self._pauses():
            if doing.ended.wait(pause):
                return False
            if holds():
                return True
        raise TimeoutError(f"it neither ends nor waits for a lock: {self.told()}")

    def _pauses(self) -> Iterator[float]:
        """Between looks: short at first, since most are held or done at once."""
        ends, pause = time.monotonic() + PATIENCE_SECONDS, LOOK_SECONDS
        while time.monotonic() < ends:
            yield pause
            pause = min(2 * pause, LOOK_SECONDS_MAX)

    def _is_blocked(self, name: str, by: int | None) -> bool:
        [(count,)] = self._eye.execute(_BLOCKED, [name, by, by]).fetchall()
        return bool(count)

    def told(self) -> str:
        """Who waits for what."""
        return "\n".join(map(str, self._eye.execute(_WAITING).fetchall()))


def words(text: str) -> str:
    """The beginning of a statement, to tell it by."""
    bare = " ".join(_COMMENT.sub("", text).split())
    changes = re.findall(r"(?:INSERT INTO|DELETE FROM|UPDATE|FROM|penstock\.\w+\() ?(?:penstock\.)?\w*", bare)
    return f"{bare[:40]} … {', '.join(dict.fromkeys(changes))}"[:110] if bare.startswith("WITH") else bare[:110]


@dataclass(frozen=True)
class Path:
    """What an operation passes, in order, and the rows that it waits for where they are locked."""

    passed: tuple[Hold, ...]
    rows: tuple[Hold, ...] = ()

    @property
    def touched(self) -> set[str]:
        return {one.table for one in self.passed if one.kind == "place"}

    @property
    def written(self) -> set[str]:
        return {one.table for one in self.passed if one.kind == "place" and not one.what.startswith("look")}

    def holds(self, other: Path | None = None) -> list[Hold]:
        """Where to hold it: before each request; in each, the first time at each table, and at the end.

        Against another, only where it matters: between two places at which it is held, this one does something to a
        table that the other changes, or changes one that the other looks at. All else could as well happen before.
        """
        tables = self.touched if other is None else (self.written & other.touched) | (other.written & self.touched)
        found: list[Hold] = []
        earlier = False
        for request, inside in self._requests():
            places = [one for one in inside if one.table in tables]
            if places or earlier or not inside or other is None:  # One that passes nothing may lock a whole table.
                found += [request, *_first(places)]
            earlier = bool(places) or (earlier and not request.ends)
        return (found or list(self.passed[:1])) + [one for one in self.rows if one.table in tables]

    def _requests(self) -> Iterator[tuple[Hold, list[Hold]]]:
        request: Hold | None = None
        inside: list[Hold] = []
        for one in self.passed:
            if one.kind == "place":
                inside.append(one)
                continue
            if request is not None:
                yield request, inside
            request, inside = one, []
        if request is not None:
            yield request, inside


def _first(inside: Sequence[Hold]) -> list[Hold]:
    ends = [one for one in inside if one.what.startswith("after")]
    return [*dict.fromkeys(one for one in inside if one not in ends), *ends[-1:]]
