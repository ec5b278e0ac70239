"""Starts worker processes and learns of their ends: sessions of their own, fresh ids, a pipe as the lifeline."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping

from penstock.supervisor.lifeline import LIFELINE
from penstock.supervisor.process_metrics import ProcessMetrics
from penstock.worker.liveness.health_address import ANYWHERE, of_process
from penstock.worker.liveness.metrics_channel import METRICS_SOCKET


class Process:
    """A worker process. Its pid stays its own until its end was noted, so that no signal reaches anyone else."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.pid = popen.pid

    def ask_to_stop(self) -> None:
        """The first time: in order. The second: at once."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """The process, and what it started and left in its group."""
        os.killpg(self.pid, signal.SIGKILL)

    def note_end(self, status: int) -> int:
        self._popen.returncode = os.waitstatus_to_exitcode(status)
        return self._popen.returncode


class Launcher:
    """Knows how to start one worker process. While it is open, the workers know that their supervisor lives."""

    def __init__(
        self,
        command: list[str],
        worker_id: str | None,
        environment: Mapping[str, str],
        health: str = ANYWHERE,
        metrics: ProcessMetrics | None = None,
    ) -> None:
        self._command = command
        self._worker_id = worker_id
        self._environment = environment
        self._health = health
        self._metrics = metrics
        self._started: dict[int, Process] = {}

    def __enter__(self) -> Launcher:
        self._lifeline, self._held_open = os.pipe()
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._held_open)
        os.close(self._lifeline)

    def start(self, number: int) -> Process:
        """Start the worker process with this number.

        A session of its own, so that Ctrl-C in a terminal reaches the supervisor alone, which then decides.
        """
        if self._metrics is None:
            return self._launch(number, {})
        ours, theirs = socket.socketpair()
        try:
            process = self._launch(number, {METRICS_SOCKET: theirs.fileno()})
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._metrics.add(number, process.pid, ours)
        return process

    def _launch(self, number: int, sockets: Mapping[str, int]) -> Process:
        open_ends = {LIFELINE: self._lifeline, **sockets}
        popen = subprocess.Popen(
            [*self._command, *self._identity(number)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=tuple(open_ends.values()),
            env={**os.environ, **self._environment, **{name: str(end) for name, end in open_ends.items()}},
        )
        process = self._started[popen.pid] = Process(popen)
        return process

    def _identity(self, number: int) -> list[str]:
        """A fresh id at every start: that of a crashed process counts as alive until its heartbeat is stale.

        And the next port for the next process, where health is served on a fixed one.
        """
        named = [] if self._worker_id is None else ["--id", f"{self._worker_id}-{number}-{secrets.token_hex(4)}"]
        health = of_process(self._health, number)
        return named if health == self._health else [*named, "--health", health]

    def ended(self) -> Iterator[tuple[Process, int]]:
        """Each process that ended, with its exit code (negative: a signal).

        As PID 1, and as a subreaper, the supervisor also inherits orphans: they are reaped and not mentioned.
        """
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if process := self._started.pop(pid, None):
                if self._metrics is not None:
                    self._metrics.end(pid)
                yield process, process.note_end(status)
