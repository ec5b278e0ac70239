"""The jobs that a benchmark runs: they do nothing, with a payload of about 190 bytes."""

from __future__ import annotations

import time
from typing import Any

from penstock.app import App
from penstock.jobtype import JobType
from penstock.store.params import History

TO, SUBJECT, BODY = "someone@example.com", "hello", "x" * 120
Arguments = tuple[str, str, str]
ARGUMENTS: Arguments = (TO, SUBJECT, BODY)


class BenchApp:
    """An app on the store under test, with the types of the benchmark."""

    def __init__(self, address: str, history: History) -> None:
        self.app = App(address, history=history)

        @self.app.job(name="penstock.bench.noop")
        async def noop(to: str, subject: str, body: str) -> None:
            pass

        @self.app.job(name="penstock.bench.plain")
        def plain(to: str, subject: str, body: str) -> None:
            pass

        @self.app.job(name="penstock.bench.probe")
        async def probe(to: str, subject: str, body: str) -> int:
            return time.time_ns()

        self.noop: JobType[Any, Any, [str, str, str], Any] = noop
        self.plain: JobType[Any, Any, [str, str, str], Any] = plain
        self.probe: JobType[Any, Any, [str, str, str], Any] = probe
