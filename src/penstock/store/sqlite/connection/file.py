"""The open file of one process: the writer's connection, its transactions, and the guards around them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import apsw
import msgspec

from penstock.domain.clock import MICROSECONDS, Clock
from penstock.domain.errors import CommitUncertain, StoreForked, StoreGone
from penstock.store.sqlite.connection import errors, opening as connection
from penstock.store.sqlite.connection.doorbell import RING_SECONDS_MIN, Bells
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.connection.identity import Folder, file_identity, is_open
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.turn import Turn
from penstock.store.sqlite.connection.tx import Lanes, Tx

BELL_SECONDS_MAX = 120
PORTS_CACHED_US = 50_000


class OpenFile:
    """What the writer writes to. Checks before every transaction that the file is still the one that was opened."""

    def __init__(
        self, path: str, synchronous: connection.Synchronous, vfs: str | None, clock: Clock, random: Callable[[], float]
    ) -> None:
        self.path = path
        self._synchronous: connection.Synchronous = synchronous
        self._current: connection.Synchronous = synchronous
        self.pid = os.getpid()
        self._connect: Callable[[], apsw.Connection] = lambda: connection.connect(path, synchronous, vfs)
        self.db = self._connect()
        self._check_opened(self.db)
        connection.migrate(self.db, path)
        self._file, log = os.fsencode(path), os.fsencode(self.db.filename_wal)
        self._identity = file_identity(self._file)
        index = log.removesuffix(b"wal") + b"shm"
        self._beside = [("its log", log, file_identity(log)), ("the index of its log", index, file_identity(index))]
        self._check_beside_opened()
        self.reader = self._connect()
        self.reader_lock = threading.Lock()
        self.gate = threading.Lock()
        self._turn = Turn(path)
        self.clock = clock
        self._random = random
        self._lanes = Lanes()
        self._bells = Bells()
        self._ports: list[int] = []
        self._ports_at = 0
        folder = os.path.dirname(os.path.abspath(self._file))
        self._folder = Folder(folder)
        self._one_folder = os.path.realpath(folder) == os.path.dirname(log)
        self._inherited: list[apsw.Connection] = [self.db, self.reader]
        self._check_opened(self.db, self.reader)
        self.check_file()

    def _check_beside_opened(self) -> None:
        for what, path, identity in self._beside:
            if not is_open(identity):
                raise errors.beside_gone(self.path, what, os.fsdecode(path), "while the store was being opened")

    def _check_opened(self, *dbs: apsw.Connection) -> None:
        """What is at the path by now may be another file than the one that was opened, which nobody would see again."""
        if any(map(connection.has_moved, dbs)):
            raise StoreGone(
                f"{self.path}: the file was deleted or replaced while it was being opened; begin again, when whoever "
                "replaces it has done so"
            )

    def check_process(self) -> None:
        """Refuse to go on in a process that did not open the file."""
        if self.pid != os.getpid():
            raise StoreForked(
                f"{self.path}: this store was opened before a fork and is used in the child; SQLite connections do not "
                "survive a fork: make the App in the child (or use it only after the fork)"
            )

    def check(self) -> None:
        """Both: in a process that opened the file, and the file still the same."""
        self.check_process()
        self.check_file()

    def check_file(self) -> None:
        """Refuse to go on with a file that is no longer the one that was opened, nor its log and the index of that."""
        stamp = self._folder.stamp() if self._one_folder else None
        if self._folder.is_trusted(stamp):
            return
        if file_identity(self._file) != self._identity:
            raise StoreGone(
                f"{self.path}: the file was deleted or replaced while it was open; put it back, or restart this process"
            )
        for what, path, identity in self._beside:  # They stay for as long as anybody uses the store.
            if file_identity(path) != identity:
                raise errors.beside_gone(self.path, what, os.fsdecode(path), "while the store was open")
        self._folder.trust(stamp)

    def connect(self) -> apsw.Connection:
        """One more connection, for a listener or for the caller's own transaction."""
        self.check()
        db = self._connect()
        try:
            self._inherited.append(db)
            self._check_opened(db)
            return db
        except BaseException:
            self._inherited.remove(db)  # Interrupted: nobody will give it back.
            raise

    def disconnect(self, db: apsw.Connection) -> None:
        if db in self._inherited:
            self._inherited.remove(db)
        db.close()

    def new_tx(self, db: apsw.Connection) -> Tx:
        """Begin on this connection; waits for other processes."""
        self.check_file()
        if not self._turn.acquire(errors.BUSY_SECONDS):
            raise translate(apsw.BusyError("another process writes"), self.path)
        db.execute("BEGIN IMMEDIATE")
        return Tx(db, self.clock.now_us(), self._lanes, self._random)

    def begin(self, durable: bool) -> Tx:
        """Begin on the writer's connection. What a power failure may undo without harm needs no sync of its own."""
        wanted = self._synchronous if durable else "normal"
        if wanted != self._current:
            self.db.execute(f"PRAGMA synchronous = {wanted}")
            self._current = wanted
        return self.new_tx(self.db)

    def commit(self, tx: Tx) -> None:
        """Commit; what cannot be known afterwards is said as CommitUncertain."""
        if tx.wake and abs(tx.now - self._ports_at) > PORTS_CACHED_US:
            self._ports, self._ports_at = self._listening(tx), tx.now
        try:
            tx.db.execute("COMMIT")
            self._turn.release()
        except (apsw.BusyError, apsw.FullError, apsw.ReadOnlyError):
            raise
        except apsw.Error as error:
            raise CommitUncertain(f"{translate(error, self.path)}; it is not known whether this was stored") from None

    def _listening(self, tx: Tx) -> list[int]:
        since = tx.now - BELL_SECONDS_MAX * MICROSECONDS
        ports: list[int] = msgspec.json.decode(tx.db.execute(sql("bells"), {"since": since}).get)
        return ports

    def rollback(self) -> None:
        self.roll_back(self.db)

    def roll_back(self, db: apsw.Connection) -> None:
        self._lanes.clear()
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
        finally:
            self._turn.release()

    def committed(self, tx: Tx) -> None:
        if tx.beat is not None:
            tx.lanes.beats[tx.beat] = tx.now
        if tx.wake and self._ports:
            self._bells.ring(self._ports)

    def owes(self) -> float | None:
        """Seconds until something is owed when nothing else comes in, or None."""
        return RING_SECONDS_MIN if self._bells.owed else None

    def pay(self) -> None:
        self._bells.ring_owed()

    def abandon(self) -> None:
        """In a forked child: never touch what belongs to the parent, not even to close it."""
        for db in self._inherited:
            connection.leak(db)
        self._turn.abandon()

    def _is_there(self) -> bool:
        try:
            self.check_file()
        except StoreGone:
            return False
        return True

    def close(self) -> None:
        if self._bells.owed:
            self._bells.ring_owed()
        self._bells.close()
        keep_log = not self._is_there()
        with self.reader_lock:  # A read may be under way in another thread.
            for db in list(self._inherited):
                connection.keep_log(db, keep_log)
                self.disconnect(db)
        self._turn.close()

    def version(self) -> int:
        """Changes whenever anyone commits."""
        self.check()
        with self.reader_lock:
            value: int = self.reader.execute("PRAGMA data_version").get
            return value

    def read(self, query: Callable[[apsw.Connection, int], Any]) -> Any:
        """One consistent read. The caller's thread does it; writers are not disturbed."""
        self.check()
        with self.reader_lock:
            try:
                self.reader.execute("BEGIN")
                return query(self.reader, self.clock.now_us())
            except apsw.Error as error:
                raise translate(error, self.path) from None
            finally:
                if self.reader.in_transaction:
                    self.reader.execute("ROLLBACK")
