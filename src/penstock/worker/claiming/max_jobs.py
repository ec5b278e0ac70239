"""How many jobs a process may begin before it is replaced (X4)."""

from __future__ import annotations

import sys
from collections.abc import Callable


class MaxJobs:
    """How many jobs may still begin in this process before it is replaced. Child processes have their own."""

    def __init__(self, max_jobs: int | None, enough: Callable[[], None]) -> None:
        self.left = sys.maxsize if max_jobs is None else max_jobs
        self._enough = enough

    def take(self) -> None:
        self.left -= 1
        if self.left == 0:
            self._enough()
