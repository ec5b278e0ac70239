"""The jobs that a benchmark runs: they do nothing, with a payload of about 180 bytes."""

from __future__ import annotations

import time
from typing import Any

from penstock.app import App
from penstock.client.client import JobCall
from penstock.declare.jobtype import JobType
from penstock.store.contract import History

TO, SUBJECT, BODY = "someone@example.com", "hello", "x" * 120
Arguments = tuple[str, str, str]
ARGUMENTS: Arguments = (TO, SUBJECT, BODY)
PAYLOAD = '{{"to":"{}","subject":"{}","body":"{}"}}'.format(*ARGUMENTS)
APART = "penstock.bench.process_job"
WARM = 20
"""So many jobs go ahead of what is timed: files and connections are open then, statements prepared, code imported."""
PROBE_GAP_SECONDS = 0.02
"""Between pickups all is idle, ours and the bare driver's alike: both must wake a machine that has gone to sleep."""
ADDRESS, HISTORY = "BENCH_STORE", "BENCH_HISTORY"
"""The environment variables by which other processes find the store under test; an address may hold a password."""


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

    def apart(self) -> JobCall[Any]:
        """A call of the process job, which only the worker's own module declares."""
        payload = dict(zip(("to", "subject", "body"), ARGUMENTS, strict=True))
        self.app.client.know(APART)
        return self.app.client.call_by_name(APART, payload, {}, {})
