"""Bounded pickup: the jobs of a worker that is gone are taken up by others in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.checker.events import STOPS, Event
from tests.checker.evidence import Lease
from tests.checker.history import NEVER
from tests.checker.rules.rule import Broken, Case, rule


@dataclass(frozen=True, slots=True)
class Pickup:
    """A job that a process held when it was stopped. `taken_at` is when it was claimed again or ended, if ever."""

    lease: Lease
    stop: Event
    taken_at: int | None

    @property
    def waited_us(self) -> int | None:
        return None if self.taken_at is None else self.taken_at - self.stop.at


def pickups(case: Case, at_least_us: int = 0) -> list[Pickup]:
    """Every job that was in the hands of a process when it was killed, or paused for at least so long."""
    held: dict[str, list[Lease]] = defaultdict(list)
    for lease in case.evidence.leases.values():
        held[lease.claim.process].append(lease)
    return [
        Pickup(lease, stop, _taken_at(case, lease, stop))
        for stop in _stops(case, at_least_us)
        for lease in held[stop.process]
        if lease.claim.ended <= stop.at and _held_at(case, lease, stop.at)
    ]


def _stops(case: Case, at_least_us: int) -> Iterator[Event]:
    resumed: dict[str, list[int]] = defaultdict(list)
    for note in case.history.notes("resumed"):
        resumed[note.process].append(note.at)
    for op in STOPS:
        for note in case.history.notes(op):
            until = min((at for at in resumed[note.process] if at >= note.at), default=NEVER)
            if op == "killed" or until - note.at >= at_least_us:
                yield note


def _held_at(case: Case, lease: Lease, moment: int) -> bool:
    """Whether it was surely held then, and what the process had said to the store before does not end it."""
    ends = case.evidence.ends_of(lease)
    if any(end.ended <= moment for end in ends) or (lease.next and lease.next.claim.begun <= moment):
        return False
    own = [write.operation for write in lease.writes if write.ends and write.operation.begun <= moment]
    return not own or lease.next is not None


def _taken_at(case: Case, lease: Lease, stop: Event) -> int | None:
    if lease.next is not None:
        return lease.next.claim.ended
    ends = [end.ended for end in case.evidence.ends_of(lease) if end.ok and end.ended >= stop.at]
    return min(ends, default=None)


@rule("The jobs of a worker that was killed or paused are claimed again or ended within the bound.")
def pickup_bound(case: Case) -> Iterator[Broken]:
    bound = case.bounds.pickup_us
    if bound is None:
        return
    for one in pickups(case, bound):
        late = one.stop.at + bound
        waited = f"after {one.waited_us / 1e6:.3f} s" if one.waited_us is not None else "never"
        if (one.taken_at or case.history.end) > late and not (one.taken_at is None and _ended(case, one.lease)):
            message = (
                f"job {one.lease.id} was held by {one.stop.process} when that was {one.stop.op}, and was taken up "
                f"{waited}; the bound is {bound / 1e6:.3f} s"
            )
            yield Broken(message, (one.stop,), jobs=(one.lease.id,), at=one.taken_at or late)


def _ended(case: Case, lease: Lease) -> bool:
    """Whether it ended by something that nobody has heard of: then nobody knows when."""
    life = case.evidence.lives[lease.id]
    return case.evidence.hidden(life) > 0 and any(job.final for job in life.true)
