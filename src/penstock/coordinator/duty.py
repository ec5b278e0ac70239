"""The shape of a duty: what the leader does every so often, fenced by its term."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


class Duty(Protocol):
    """One thing that is done for all, by one worker at a time."""

    name: str
    """What is done, as in "could not … : the error"."""
    judges: bool
    """Whether it judges other workers: one that has only just begun, or was cut off, knows too little of them."""
    makes_work: bool
    """Whether something may be there to run afterwards that was not there before."""
    interval: float
    """Seconds from the end of one time to the next."""

    async def do(self, term: int) -> float | None:
        """Do it once. May be done again at any time, also by another leader that knows nothing of this one.

        Answers after how many seconds it should be done again; None: after the interval, more or less.
        """
        ...


@runtime_checkable
class Judge(Duty, Protocol):
    """A duty that judges workers, and can tell beforehand whether it would have anything to do."""

    async def has_cause(self) -> bool:
        """Whether it would do something now. Changes nothing, so that one may ask who knows too little to judge."""
        ...
