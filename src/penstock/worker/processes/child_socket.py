"""The child's end of the socket pair: hears the worker, speaks to it, and ends the child when the worker is gone."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import suppress
from typing import NoReturn

from penstock.worker.processes.descendants import ON_LINUX, children_of, kill_descendants
from penstock.worker.processes.frames import HEAD, FromChild, Said, ToChild, frame, to_child

SAY_SECONDS = 0.1
LOOK_SECONDS = 1.0
CHILDREN_MAX = 200
"""What handlers start and leave alone becomes a child of this process, and nobody waits for its end. With so many of
them the process is replaced.
"""


class ChildSocket:
    """Frames in both directions. Any thread may speak; what a handler forks has no part in it."""

    def __init__(self, sock: socket.socket, worker: int) -> None:
        sock.set_inheritable(False)
        self._sock = sock
        self._stream = sock.makefile("rb")
        self._worker = worker
        self._speaking = threading.Lock()
        self._held: dict[int, str] = {}
        self._spoke = -SAY_SECONDS
        self._news = threading.Event()
        self._forked = False
        self.crowded = False
        """Whether too many processes have ended below this one that nobody has waited for."""
        self._hung_up = False
        os.register_at_fork(after_in_child=self._cut)

    def read(self) -> ToChild | None:
        """Wait for the next word of the worker. None after hang_up()."""
        try:
            head = self._stream.read(HEAD.size)
            body = self._stream.read(HEAD.unpack(head)[0]) if len(head) == HEAD.size else b""
        except OSError as error:
            _end_after(error)
        if not body and not self._hung_up:
            _end()
        message: ToChild | None = to_child.decode(body) if body else None
        return message

    def attend(self) -> None:
        """From now on: see to it that the child does not outlive its worker, also while a handler keeps it busy."""
        threading.Thread(target=self._look, name="penstock-look", daemon=True).start()

    def hang_up(self) -> None:
        """Hear no more, in any thread: whoever reads is told so."""
        self._hung_up = True
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RD)

    def send(self, message: FromChild) -> None:
        if self._forked:
            os._exit(1)  # A handler has forked and returned in both processes: only one of them is this child.
        with self._speaking:
            self._held.clear()  # An answer carries the last progress itself.
            self._write(message)

    def say(self, token: int, progress: str) -> None:
        """Tell how far a job is: at once after a silence, otherwise a little later, and then only the last."""
        if self._forked:
            return
        with self._speaking:
            self._held[token] = progress
            if time.monotonic() - self._spoke >= SAY_SECONDS:
                self._say_held()
            else:
                self._news.set()

    def _say_held(self) -> None:
        held, self._held = self._held, {}
        self._spoke = time.monotonic()
        for token, progress in held.items():
            self._write(Said(token, progress))

    def _write(self, message: FromChild) -> None:
        try:
            self._sock.sendall(frame(message))
        except OSError as error:
            _end_after(error)

    def _look(self) -> None:
        # The end of the stream is only heard between two calls, and what the worker has forked may hold it open.
        while os.getppid() == self._worker:
            if self._news.wait(LOOK_SECONDS):
                self._news.clear()
                time.sleep(SAY_SECONDS)
                with self._speaking:
                    self._say_held()
            elif ON_LINUX:
                self.crowded = len(children_of(os.getpid())) > CHILDREN_MAX
        _end()

    def _cut(self) -> None:
        """In a process that was forked here: it must neither speak for this child nor hide its death."""
        self._forked = True
        os.close(self._sock.detach())


def _end() -> NoReturn:
    """The worker is gone and its jobs will be recovered: nothing here, or started here, may go on with them."""
    kill_descendants(os.getpid())
    os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _end_after(error: OSError) -> NoReturn:
    if not isinstance(error, ConnectionError):
        with suppress(OSError):
            os.write(2, f"penstock: a handler has closed the socket to the worker of its process ({error})\n".encode())
        kill_descendants(os.getpid())
        os._exit(1)
    _end()
