"""How a supervisor hears of the metrics of its worker processes: over a socket that each has from its start.

The supervisor sends a byte, and the process answers with what it has counted, in a frame: its length, then its text.
Whoever ends in order sends a last one unasked.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

from penstock.observe.metrics.shown import Shown, pack

METRICS_SOCKET = "PENSTOCK_METRICS_FD"
"""The environment variable with the number of the socket; set by the supervisor for its workers."""
LENGTH_BYTES = 4
SEND_SECONDS_MAX = 1.0


def told_by_supervisor() -> int | None:
    """The number of the socket, once: it is not for processes that a handler starts."""
    number = os.environ.pop(METRICS_SOCKET, "")
    if not number.isdecimal():
        return None
    try:
        os.set_inheritable(int(number), False)
    except OSError:
        return None
    return int(number)


def frame(shown: Shown) -> bytes:
    packed = pack(shown)
    return len(packed).to_bytes(LENGTH_BYTES) + packed


class MetricsChannel:
    """The side of the process, from when it is made until it is closed."""

    def __init__(self, number: int, shown: Callable[[], Shown]) -> None:
        self._socket = socket.socket(fileno=number)
        self._shown = shown
        self._thread = threading.Thread(target=self._serve, name="penstock-metrics-channel", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """With a last word. Whoever does not listen is not waited for."""
        try:
            self._socket.shutdown(socket.SHUT_RD)
            self._thread.join(SEND_SECONDS_MAX)
            if not self._thread.is_alive():  # Else the supervisor has not taken the frame before.
                self._socket.settimeout(SEND_SECONDS_MAX)
                self._socket.sendall(frame(self._shown()))
        except OSError:
            pass  # The supervisor is gone.
        finally:
            self._socket.close()

    def _serve(self) -> None:
        try:
            while self._socket.recv(LENGTH_BYTES):
                self._socket.sendall(frame(self._shown()))
        except OSError:
            pass  # The supervisor is gone, and that is seen by the lifeline.
