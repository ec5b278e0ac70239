"""The PostgreSQL server of a session of runs: it is killed and started again, and serves one run after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.postgres.binaries import Version
from tests.postgres.server import Server

VERSION: Version = 18


@contextmanager
def new_server() -> Iterator[Callable[[], Server]]:
    """Answers a function that gives the server, started when it is first asked for."""
    made: list[Server] = []

    def give() -> Server:
        if not made:
            made.append(Server(VERSION))
        if not made[0].runs:
            made[0].start()
        return made[0]

    try:
        yield give
    finally:
        for server in made:
            server.close()
