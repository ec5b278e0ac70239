"""What a run shows in numbers, from its histories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.checker.events import ClaimTold, Event, FinishAsked, LostTold, Trouble


@dataclass
class Figures:
    """Of one run: `pickups` are the seconds from a worker's death to the next claim of each job without limits that it
    held.
    """

    jobs: int = 0
    lost: int = 0
    refused: int = 0
    """Writes of superseded tokens that the store refused."""
    accepted: int = 0
    """Those that it took: none, ever."""
    pickups: list[float] = field(default_factory=list)
    bound: float = 0.0

    def pickup(self, share: float) -> float | None:
        """The pickup that so large a share of them is not above."""
        ordered = sorted(self.pickups)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def superseded(events: Sequence[Event]) -> tuple[int, int]:
    """Writes of tokens that were no longer current when they were sent: (refused, accepted)."""
    job_of = {job.token: job.id for event in events if isinstance(event, ClaimTold) for job in event.jobs}
    newest: dict[str, int] = {}
    late: dict[tuple[str, int | None], set[int]] = {}
    refused = accepted = 0
    for event in events:
        if isinstance(event, ClaimTold):
            for job in event.jobs:
                newest[job.id] = max(job.token, newest.get(job.id, 0))
        elif isinstance(event, FinishAsked):
            tokens = [end.token for end in event.completed] + [end.token for end in event.unfinished]
            late[event.process, event.call] = {
                token for token in tokens if token < newest.get(job_of.get(token, ""), 0)
            }
        elif isinstance(event, LostTold) and event.op == "finish":
            sent = late.pop((event.process, event.call), set())
            refused += len(sent & set(event.lost))
            accepted += len(sent - set(event.lost))
        elif isinstance(event, Trouble) and event.op == "finish" and event.phase == "fail":
            refused += len(late.pop((event.process, event.call), ()))  # By LeaseLost, in a handler's own transaction.
    return refused, accepted
