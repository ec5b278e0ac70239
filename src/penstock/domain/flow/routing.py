"""Which worker may take which job: the one rule, asked by claims and by everything that explains them (R1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from penstock.domain.options import NO_RESOURCES, Resources

Obstacle = Literal["type", "queue", "capability", "resources"]


class Lane(Protocol):
    """What a job asks for. Jobs that ask for the same wait in one lane."""

    @property
    def type(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def capability(self) -> str: ...
    @property
    def resources(self) -> Resources: ...


class LaneKey(NamedTuple):
    """A lane by what its jobs ask for, wherever nothing else of it is known."""

    type: str
    queue: str
    capability: str
    resources: Resources


class Offer(Protocol):
    """What a worker takes. None for types or queues means all; None for resources means that it has none to give."""

    @property
    def types(self) -> Sequence[str] | None: ...
    @property
    def queues(self) -> Sequence[str] | None: ...
    @property
    def capabilities(self) -> Sequence[str]: ...
    @property
    def resources(self) -> Resources | None: ...


def why_not(offer: Offer, lane: Lane) -> tuple[Obstacle, ...]:
    """Everything that keeps this worker from the lane's jobs; empty when it may take them."""
    found: list[Obstacle] = []
    if offer.types is not None and lane.type not in offer.types:
        found.append("type")
    if offer.queues is not None and lane.queue not in offer.queues:
        found.append("queue")
    if lane.capability not in offer.capabilities:
        found.append("capability")
    if missing_resources(offer.resources, lane.resources):
        found.append("resources")
    return tuple(found)


def missing_resources(has: Resources | None, needs: Resources) -> tuple[str, ...]:
    """The names of what a worker has too little of."""
    has = has or NO_RESOURCES
    return tuple(name for name in ("cpu", "memory", "gpu") if getattr(needs, name) > getattr(has, name))
