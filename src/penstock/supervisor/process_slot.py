"""One of the N places for a worker process: the process that fills it now, or when the next one starts."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.supervisor.launch import Process
from penstock.supervisor.pace import STEADY_SECONDS, Pace

KILL_SECONDS = 30.0
"""How long after its orderly stop should be over a process is killed."""


@dataclass
class ProcessSlot:
    """Times are of the supervisor's monotonic clock; None means never."""

    number: int
    pace: Pace
    child: Process | None = None
    started_at: float = 0.0
    start_at: float | None = 0.0
    asked: bool = False
    """Whether the process was asked to stop, so that its end is no surprise."""
    hurry_at: float | None = None
    kill_at: float | None = None

    def fill(self, child: Process, now: float) -> None:
        self.child, self.started_at, self.start_at, self.asked = child, now, None, False

    def clear(self) -> None:
        self.child, self.start_at, self.hurry_at, self.kill_at = None, None, None, None

    def lived(self, now: float) -> float:
        return now - self.started_at

    def steady(self, now: float) -> bool:
        return self.child is not None and self.lived(now) >= STEADY_SECONDS

    def ask_to_stop(self, now: float, patience: float, *, hurry: bool = False) -> None:
        """Ask the process to stop in order; with `hurry`, ask again when patience ends."""
        if self.child is not None:
            self.child.ask_to_stop()
            self.asked = True
            self.hurry_at = now + patience if hurry else None
            self.kill_at = now + patience + KILL_SECONDS

    def hurry(self, now: float) -> None:
        """Ask again: at once."""
        if self.child is not None:
            self.child.ask_to_stop()
            self.hurry_at = None
            self.kill_at = now + KILL_SECONDS if self.kill_at is None else min(self.kill_at, now + KILL_SECONDS)

    def kill(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.kill_at = None
