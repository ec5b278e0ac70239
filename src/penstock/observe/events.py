"""What happens to jobs, handed to whoever observes: the one way from what is done to what is seen of it.

Whatever ends, returns or moves jobs answers what happened to each; observed() is a store that hands all of that on.
Outcomes are many, and their worker knows what it has sent: it hands over a batch at a time, as the store has taken it,
and an object for each job is made only if somebody wants it. See docs/decisions/0027-events.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import msgspec

from penstock.domain.job import ErrorInfo, Event, State
from penstock.observe.redaction import log_error
from penstock.store.contract import ALL_STORED, Claim, Completed, Finished, Happened, Unfinished

log = logging.getLogger("penstock.events")

_ENDED_AS = {Event.COMPLETE: State.COMPLETED, Event.FAIL: State.DEAD, Event.CANCEL: State.CANCELLED}


class Ended(msgspec.Struct, frozen=True, gc=False):
    """An attempt as its worker has handed it in: after so many seconds, if it had begun. `result` is there if it may be
    shown.
    """

    claim: Claim
    end: Completed | Unfinished
    seconds: float | None = None
    error: ErrorInfo | None = None
    result: str | None = None
    timed_out: bool = False


class Quiet(NamedTuple):
    """Successes that nobody wants to be told of one by one: their claims and outcomes, and how many seconds the first
    of them took, each in order.
    """

    claims: Sequence[Claim]
    done: Sequence[Completed]
    seconds: Sequence[float]


class EndedBatch:
    """Attempts of one worker whose outcomes went to the store together, and what it made of them."""

    def __init__(self, worker_id: str, ended: Sequence[Ended], answer: Finished = ALL_STORED,
                 quiet: Quiet | None = None) -> None:  # fmt: skip
        self.worker_id = worker_id
        self.ended = ended
        self.quiet = quiet
        self.lost = frozenset(answer.lost)
        """The tokens of those that had been taken from this worker: nothing has happened to their jobs here."""
        self.cancelled = frozenset(answer.cancelled)
        """The tokens of those that a person had cancelled, and that have ended so."""

    def event_of(self, one: Ended) -> Event:
        return Event.CANCEL if one.end.token in self.cancelled else one.end.event

    @cached_property
    def happened(self) -> Sequence[Happened]:
        """An object for each, made when somebody asks."""
        return [self._tell(one) for one in self.ended if one.end.token not in self.lost]

    def _tell(self, one: Ended) -> Happened:
        claim, end, event = one.claim, one.end, self.event_of(one)
        by_person = event is Event.CANCEL
        back, reason = (0.0, None) if isinstance(end, Completed) else (end.delay, end.reason)
        return Happened(
            event, claim.id, claim.type, claim.queue, claim.capability, claim.tenant, claim.attempt,
            _ENDED_AS.get(event) or (State.SCHEDULED if back > 0 else State.PENDING),
            "operator" if by_person else "worker", one.error.type if one.error and not by_person else None,
            self.worker_id, reason, claim.tags or (),
        )  # fmt: skip


class Observer:
    """Whoever wants to know. What it does is quick, blocks nothing, and may be called from any thread."""

    every_success = False
    """Whether it wants all attempts that succeed; all others it always gets. The log wants them by its level."""
    quiet = False
    """Whether it wants batches in which there is nothing but successes that nobody wants."""

    def happened(self, jobs: Sequence[Happened]) -> None:
        """To jobs that others have ended, returned or moved."""

    def claimed(self, worker_id: str, claims: Sequence[Claim], claimed_at: int) -> None:
        """By a worker here. Told to those who take quiet batches."""

    def ended(self, batch: EndedBatch) -> None:
        """Attempts of a worker here."""
        self.happened(batch.happened)

    def lost(self, silent: Sequence[float]) -> None:
        """Workers were declared lost by this process, which were not heard of for so many seconds."""

    def counted(self, name: str, labels: tuple[str, ...]) -> None:
        """Something that is no job's, and counts in the metric of this name."""


class Events:
    """Hands on to its observers. One that raises is logged, and changes nothing."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self.every_success = any(one.every_success for one in observers)

    def add(self, observer: Observer) -> None:
        """From now on. One that wants every success must be there from the beginning."""
        self._observers = (*self._observers, observer)

    def remove(self, observer: Observer) -> None:
        self._observers = tuple(one for one in self._observers if one is not observer)

    def happened(self, jobs: Sequence[Happened]) -> None:
        if jobs:
            self._hand_on(lambda observer: observer.happened(jobs))

    def claimed(self, worker_id: str, claims: Sequence[Claim], claimed_at: int) -> None:
        self._hand_on(lambda observer: observer.claimed(worker_id, claims, claimed_at) if observer.quiet else None)

    def ended(self, batch: EndedBatch) -> None:
        loud = bool(batch.ended)
        self._hand_on(lambda observer: observer.ended(batch) if loud or observer.quiet else None)

    def lost(self, silent: Sequence[float]) -> None:
        if silent:
            self._hand_on(lambda observer: observer.lost(silent))

    def count(self, name: str, *labels: str) -> None:
        """One more of what no job and no worker tells of, by the name of its metric."""
        self._hand_on(lambda observer: observer.counted(name, labels))

    def _hand_on(self, tell: Callable[[Observer], None]) -> None:
        for observer in self._observers:
            try:
                tell(observer)
            except Exception as error:
                with suppress(Exception):  # The log itself may be what raises.
                    log_error(
                        log, logging.ERROR, error, "%s could not take what happened to jobs", type(observer).__name__
                    )
