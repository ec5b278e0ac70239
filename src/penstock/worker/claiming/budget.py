"""What a worker may still claim: the resources that its jobs leave free, and how many more of types that are limited.

All slot groups of a worker share it. It is reckoned from what is held at the moment of a claim, never booked and given
back, so nothing that ends in an unusual way can keep anything. What was given up and still runs counts until it ends: a
thread that cannot be stopped uses its memory all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from penstock.domain.flow.claim_budget import Cap, left_of
from penstock.domain.options import Resources
from penstock.domain.registry import Registry
from penstock.store.contract import Claim


class Holder(Protocol):
    """Who holds claimed jobs: an executor."""

    def held(self) -> Iterable[Claim]:
        """Every job that is claimed here and has not ended for good."""
        ...


class Budget:
    """`limits` are types with a limit of their own: all names of a type, and how many of it may be held at once."""

    def __init__(
        self, resources: Resources | None, limits: Sequence[tuple[tuple[str, ...], int]], holders: Sequence[Holder]
    ) -> None:
        self._resources = resources
        self._limits = limits
        self._limited = frozenset(name for names, _ in limits for name in names)
        self._holders = holders
        self._one_at_a_time = asyncio.Lock() if resources is not None else None

    def counts(self, claim: Claim) -> bool:
        """Whether the end of this job may let another be claimed that had to wait."""
        return claim.resources is not None or claim.type in self._limited

    @property
    def turn(self) -> AbstractAsyncContextManager[object]:
        """Held during a claim, so that two groups do not both count on the same resources."""
        return self._one_at_a_time or nullcontext()

    def free(self) -> Resources | None:
        """What is left of the resources; None for a worker that has none."""
        if self._resources is None:
            return None
        return left_of(self._resources, (claim.resources for claim in self._held() if claim.resources is not None))

    def caps(self, types: Sequence[str]) -> tuple[Cap, ...]:
        """How many more there may be of the limited ones among these types."""
        if not self._limited.intersection(types):
            return ()
        held = [claim.type for claim in self._held() if claim.type in self._limited]
        return tuple(
            Cap(names, max(0, most - sum(one in names for one in held)))
            for names, most in self._limits
            if any(name in types for name in names)
        )

    def _held(self) -> Iterator[Claim]:
        for holder in self._holders:
            yield from holder.held()


def limits_of(registry: Registry, served: Iterable[str]) -> list[tuple[tuple[str, ...], int]]:
    """The types that may have only so many jobs at once in a worker. Of batch types calls are limited: see slots.py."""
    served = set(served)
    return [
        ((declaration.name, *declaration.aliases), declaration.options.worker_concurrency)
        for declaration in registry
        if declaration.options.worker_concurrency is not None
        and declaration.batching is None
        and not served.isdisjoint((declaration.name, *declaration.aliases))
    ]
