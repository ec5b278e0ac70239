"""How much of the time of one request is left, for each of its steps: so all of them together are bounded."""

from __future__ import annotations

from penstock.domain.clock import Clock


class Deadline:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + seconds

    def left(self) -> float:
        """Seconds. That there are none is a TimeoutError: a socket takes 0 for not to wait at all."""
        left = self._end - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError("the time for this request is over")
        return left
