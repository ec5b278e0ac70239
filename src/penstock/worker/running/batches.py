"""Gathers the jobs of one batch type into calls, and tells each job's outcome from what the call returned (X3)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.domain.errors import BatchError
from penstock.domain.registry import Batching
from penstock.worker.running.run import BatchCall, Run


@dataclass(frozen=True, slots=True, init=False)
class Failed:
    """The outcome of one item of a batch that failed, while the others did not.

    Judged as if a handler of its own had raised it: Failed(DoNotRetry("empty text")), Failed(Retry("1m")).
    """

    error: BaseException

    def __init__(self, error: BaseException | str) -> None:
        if not isinstance(error, (BaseException, str)):
            raise TypeError(f"Failed takes an exception or a text, not {error!r}")
        object.__setattr__(self, "error", Exception(error) if isinstance(error, str) else error)


Outcome = tuple[Any, BaseException | None]


def outcomes_of(call: BatchCall, result: Any, error: BaseException | None) -> Sequence[Outcome]:
    """One outcome for each job of the call: what it returned, or why it failed."""
    if error is None and (not isinstance(result, (list, tuple)) or len(result) != len(call.runs)):
        given = f"{len(result)} outcomes" if isinstance(result, (list, tuple)) else f"a {type(result).__name__}"
        error = BatchError(
            f"{call.plan.declaration.name} returned {given} for {len(call.runs)} items: "
            "return a list with one outcome per item, in their order; penstock.Failed(error) for one that failed"
        )
    if error is not None:
        return [(None, error)] * len(call.runs)
    return [_outcome(one) for one in result]


def _outcome(one: Any) -> Outcome:
    """An exception by itself, as asyncio.gather(return_exceptions=True) gives it, can only mean a failure."""
    if isinstance(one, BaseException):
        return None, one
    return (None, one.error) if isinstance(one, Failed) else (one, None)


class Batches:
    """Up to `calls` calls at once. A call begins when it is full, or when its first job has waited long enough."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, batching: Batching, calls: int, launch: Callable[[BatchCall], None]
    ) -> None:
        self._loop = loop
        self._batching = batching
        self._free = calls
        self._launch = launch
        self._gathered: deque[Run] = deque()
        self._alone: deque[Run] = deque()
        self._hurried = False
        self._timer: asyncio.TimerHandle | None = None

    def add(self, run: Run) -> None:
        """Alone runs what has crashed, so that it takes no others along, and the last of several attempts: whoever
        shared the calls before, it fails or succeeds by itself.
        """
        run.waiting = True
        alone = run.claim.crashes > 0 or 1 < run.claim.attempt == run.policy.attempts
        (self._alone if alone else self._gathered).append(run)
        if alone or len(self._gathered) >= self._batching.size:
            self._look()
        else:  # Never at once: others that were claimed together with it are about to be added.
            self._wake_at(run.started + (0.0 if self._hurried else self._batching.wait))

    def ended(self) -> None:
        """A call is over: the next one may begin."""
        self._free += 1
        self._look()

    def resize(self, more: int) -> None:
        """So many more calls may run at once, or fewer: then those that run finish first."""
        self._free += more
        self._look()

    def hurry(self) -> None:
        """No more will come: begin with what there is."""
        self._hurried = True
        self._look()

    def _look(self) -> None:
        while self._free > 0 and (runs := self._next()):
            self._free -= 1
            self._launch(BatchCall(runs))

    def _next(self) -> list[Run]:
        """The runs of the next call; none if it should still wait."""
        for waiting in (self._alone, self._gathered):
            while waiting and waiting[0].over:
                waiting.popleft()
        if self._alone:
            return [self._alone.popleft()]
        if not self._gathered:
            return []
        due = self._gathered[0].started + self._batching.wait
        if len(self._gathered) < self._batching.size and not self._hurried and self._loop.time() < due:
            self._wake_at(due)
            return []
        taken = [self._gathered.popleft() for _ in range(min(self._batching.size, len(self._gathered)))]
        return [run for run in taken if not run.over] or self._next()

    def _wake_at(self, due: float) -> None:
        if self._timer is None:
            self._timer = self._loop.call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._look()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
