"""The keyboard: keys one by one, as they are pressed, while somebody listens; then the terminal is as before."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from penstock.cli.top.view import QUIT

STDIN = 0
READ_BYTES_MAX = 64
ESCAPE = "\x1b"
TERMINATED = 128 + signal.SIGTERM


class Keys:
    """What was pressed. Without a terminal to read from nothing ever is."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def wait(self, bell: int, seconds: float) -> Sequence[str]:
        """The next keys; none after so long, or when there is something to be read at the bell."""
        heard = [bell] if self._fd is None else [bell, self._fd]
        ready, _, _ = select.select(heard, [], [], seconds)
        if bell in ready:
            os.read(bell, READ_BYTES_MAX)
        return self._read() if self._fd in ready else ()

    def _read(self) -> Sequence[str]:
        assert self._fd is not None
        try:
            pressed = os.read(self._fd, READ_BYTES_MAX).decode(errors="ignore")
        except OSError:
            pressed = ""
        if not pressed:
            return QUIT  # The terminal is gone.
        return "" if pressed.startswith(ESCAPE) else pressed  # An arrow, or another key of several characters.


@contextmanager
def keys() -> Iterator[Keys]:
    """The terminal gives each key at once and shows none, until the end, whatever ends it. Ctrl-C stays what it is."""
    fd = STDIN
    if not os.isatty(fd):
        yield Keys(None)
        return
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        _ignore_suspend(fd)
        yield Keys(fd)
    finally:
        with contextlib.suppress(termios.error):  # The terminal is gone.
            termios.tcsetattr(fd, termios.TCSAFLUSH, before)


def _ignore_suspend(fd: int) -> None:
    """Ctrl-Z would leave the shell with the screen and the mode of ours."""
    mode: list[Any] = termios.tcgetattr(fd)
    mode[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(fd, termios.TCSANOW, mode)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """A SIGTERM ends what is inside as an error does, so that all is put back."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
