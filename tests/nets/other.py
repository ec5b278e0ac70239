"""The other process: carries out operations on a store of its own, held between any two statements, and can be killed.

Statements are seen as SQLite's own hooks tell of them; nothing of the store's code is touched. A parent that has opened
nothing forks them, so that a new one is there at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

import apsw

from penstock.store.sqlite.connection.statements import sql, sql_files
from tests.contract.world import World
from tests.nets.file_scene import FIRST, open_world
from tests.nets.holding import words
from tests.nets.operations import OPERATIONS
from tests.nets.stage import Stage

ENDINGS = ("COMMIT", "ROLLBACK")
HELD, ENDED = "held", "ended"
ANSWER_SECONDS = 60.0


# In the other process


class Statements:
    """Counts the boundaries that are passed: before each statement, after each end of a transaction, and at the end."""

    def __init__(self, reached: Callable[[str], None]) -> None:
        self.passed: list[str] = []
        self.hold: int | None = None
        self._reached = reached
        self._counting = False

    def watch(self, db: apsw.Connection) -> None:
        db.exec_trace = self._before
        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._after)

    def begin(self, hold: int | None) -> None:
        self.passed, self.hold, self._counting = [], hold, True

    def end(self) -> None:
        self.pass_by("at its end")
        self._counting = False

    def _before(self, cursor: Any, text: str, bindings: Any) -> bool:
        self.pass_by(f"before {words(text)}")
        return True

    def _after(self, event: dict[str, Any]) -> None:
        if event["sql"] in ENDINGS:
            self.pass_by(f"after {event['sql']}")

    def pass_by(self, what: str) -> None:
        if not self._counting:
            return
        self.passed.append(what)
        if self.hold == len(self.passed) - 1:
            self._reached(what)


class Other:
    """Does what it is told over a connection."""

    def __init__(self, connection: Connection, stage: Stage, without: str | None) -> None:
        self._connection = connection
        self._stage = stage
        self._statements = Statements(self._held)
        self._world: World | None = None
        self._without = ExitStack()
        apsw.connection_hooks.append(self._statements.watch)
        if without is not None:
            from tests.nets.file_ablations import SAFEGUARDS

            self._without.enter_context(SAFEGUARDS[without].without())

    def _held(self, what: str) -> None:
        self._connection.send((HELD, what))
        self._connection.recv()

    def serve(self) -> None:
        while True:
            try:
                name, *given = self._connection.recv()
            except EOFError:
                return
            answer = error = None
            try:
                answer = getattr(self, name)(*given)
            except Exception as raised:
                error = raised
            self._connection.send((ENDED, answer, error))

    @property
    def world(self) -> World:
        assert self._world is not None
        return self._world

    def open(self, path: Path, now: int, early: int | None, side: int = FIRST) -> None:
        """`early`: when to look, so that it knows the store."""
        self._world = open_world(path, now if early is None else early, side)
        if early is None:
            self._world.store.count_queues().wait()
        else:
            self._world.claim(self._stage.two, 0)
            self._world.clock._now_us = now

    def act(self, name: str, hold: int | None) -> Any:
        self._statements.begin(hold)
        try:
            return OPERATIONS[name].act(self.world, self._stage)
        finally:
            self._statements.end()

    def passed(self) -> list[str]:
        return self._statements.passed

    def use(self, now: int) -> bool:
        """Whether it can store a job, and is given it."""
        world = self.world
        world.clock._now_us = now
        session = world.register("four", stale_after=1e9)
        new = world.add(priority=100)
        claims = world.claim(session)
        return new in [claim.id for claim in claims] and not world.complete(*claims)

    def close(self) -> None:
        self.world.store.close()


def main(address: str) -> None:
    """Fork one at each line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in sql_files():
        sql(name)  # So that none of them has to read it.
    for _ in sys.stdin:
        if os.fork() == 0:
            try:
                os.close(0)
                with Client(address, "AF_UNIX") as connection:
                    connection.send(os.getpid())
                    Other(connection, *connection.recv()).serve()
            finally:
                os._exit(0)


# In the process of the net


class Answer:
    """How a call has ended."""

    def __init__(self, answer: Any, error: BaseException | None) -> None:
        self.answer, self.error = answer, error


class Hand:
    """Holds another process by a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pid: int = connection.recv()
        self._answer: Answer | None = None

    def ask(self, name: str, *given: Any) -> Any:
        """Carried out to its end."""
        self.begin(name, *given)
        answer = self.ended()
        if answer.error is not None:
            raise answer.error
        return answer.answer

    def begin(self, name: str, *given: Any) -> str | None:
        """Where it is held; None, if it has come to its end."""
        self._connection.send((name, *given))
        kind, *told = self._receive()
        self._answer = None if kind == HELD else Answer(*told)
        return str(told[0]) if kind == HELD else None

    def go_on(self) -> None:
        self._connection.send(None)

    def ended(self) -> Answer:
        if self._answer is None:
            kind, *told = self._receive()
            assert kind == ENDED, told
            self._answer = Answer(*told)
        return self._answer

    def _receive(self) -> Any:
        if not self._connection.poll(ANSWER_SECONDS):
            raise TimeoutError("the other process does not answer")
        return self._connection.recv()

    def kill(self) -> None:
        """Its locks go with it."""
        os.kill(self._pid, signal.SIGKILL)
        try:
            while True:
                self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._connection.close()

    def close(self) -> None:
        self._connection.close()


class Hands:
    """Other processes, as many as are asked for, one after another."""

    def __init__(self, folder: Path) -> None:
        address = str(folder / "socket")
        self._listener = Listener(address, "AF_UNIX")
        self._listener._listener._socket.settimeout(ANSWER_SECONDS)  # type: ignore[attr-defined]
        self._parent = subprocess.Popen([sys.executable, "-m", "tests.nets.other", address], stdin=subprocess.PIPE)

    def new(self, stage: Stage, without: str | None = None) -> Hand:
        assert self._parent.stdin is not None
        self._parent.stdin.write(b"\n")
        self._parent.stdin.flush()
        connection = self._listener.accept()
        connection.send((stage, without))
        return Hand(connection)

    def close(self) -> None:
        assert self._parent.stdin is not None
        self._parent.stdin.close()
        self._parent.wait()
        self._listener.close()


if __name__ == "__main__":
    main(sys.argv[1])
