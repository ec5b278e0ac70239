"""From the name of a host to addresses: asked once for each request, and in bounded time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from typing import Any, NamedTuple

from penstock.outbound.addresses import Address
from penstock.outbound.deadline import Deadline
from penstock.outbound.target import Target

AT_ONCE = 8
ADDRESSES_MAX = 100

Resolve = Callable[..., Sequence[tuple[Any, ...]]]
"""What socket.getaddrinfo is: (host, port, type=SOCK_STREAM) to (family, type, protocol, name, address) of each."""


class Found(NamedTuple):
    """An address of a host: as what it is judged, and what a socket is connected to, which is the same in numbers."""

    address: Address
    family: int
    numbers: tuple[Any, ...]


class Lookup:
    """Asks in threads, for a question to a name server that does not answer cannot be ended. They are bounded, too."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._room = threading.BoundedSemaphore(AT_ONCE)

    def find(self, target: Target, deadline: Deadline) -> list[Found]:
        """All addresses of its host. Errors are OSError, a time that is over too."""
        if not self._room.acquire(timeout=deadline.left()):
            raise TimeoutError("name servers do not answer")
        answer: Future[list[Found]] = Future()
        thread = threading.Thread(target=self._ask, args=(target, answer), name="penstock-lookup", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._room.release()
            raise OSError("no thread could be started to look up a name") from error
        return answer.result(deadline.left())

    def _ask(self, target: Target, answer: Future[list[Found]]) -> None:
        try:
            rows = self._resolve(target.host, target.port, type=socket.SOCK_STREAM)
            answer.set_result([_found(row, target.port) for row in rows[:ADDRESSES_MAX]])
        except ValueError as error:  # A name that cannot be written for a name server, or an answer that is none.
            answer.set_exception(OSError(str(error)))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            self._room.release()


def _found(row: tuple[Any, ...], port: int) -> Found:
    family, numbers = row[0], row[4]
    return Found(ip_address(numbers[0]), family, (numbers[0], port, *numbers[2:]))
