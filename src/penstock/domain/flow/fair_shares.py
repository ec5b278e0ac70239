"""Fair shares: the tenants of a queue take turns, each as many in a row as its weight says (L4).

How many slots a queue gets is decided by the order of its jobs, as ever; whose jobs use them, by turns. So no slot
stays empty, and a tenant that comes while another has thousands of jobs waiting is next after one round of turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from penstock.domain.errors import ConfigError
from penstock.domain.options import NAME_LENGTH_MAX
from penstock.domain.texts import UNSTORABLE, as_number, brief, is_text

WEIGHT_MAX = 1000


class Served(Protocol):
    """A job that was given out."""

    @property
    def queue(self) -> str: ...
    @property
    def tenant(self) -> HasOrg | None: ...


class HasOrg(Protocol):
    @property
    def org(self) -> str: ...


class FairShares:
    """Whose turn was the last one in each queue, and how many there were in a row.

    Each process keeps its own: what all of them give out is shared as fairly as what each of them does, and nothing
    has to be stored or locked.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}

    def note(self, jobs: Iterable[Served]) -> None:
        """These were given out, in this order."""
        for job in jobs:
            if job.tenant is not None:
                last, row = self._last.get(job.queue, ("", 0))
                self._last[job.queue] = job.tenant.org, row + 1 if last == job.tenant.org else 1

    def copy(self) -> FairShares:
        copied = FairShares()
        copied._last = dict(self._last)
        return copied

    def last(self, queue: str) -> str:
        return self._last.get(queue, ("", 0))[0]

    def goes_on(self, queue: str, weights: Mapping[str, int]) -> bool:
        """Whether the one who had the last turn has more of them in a row."""
        last, row = self._last.get(queue, ("", 0))
        return 0 < row < weights.get(last, 1)

    def deal(self, queue: str, slots: int, most: Mapping[str, int], weights: Mapping[str, int]) -> list[str]:
        """The tenant of each slot, among those who have jobs: at most so many each."""
        last, row = self._last.get(queue, ("", 0))
        left = dict(most)
        dealt: list[str] = []
        line = sorted(most, key=lambda tenant: (tenant <= last, tenant))
        if last in left and self.goes_on(queue, weights):
            _give(dealt, left, last, min(slots, weights.get(last, 1) - row))
        while len(dealt) < slots and line:
            for tenant in line:
                _give(dealt, left, tenant, min(slots - len(dealt), weights.get(tenant, 1)))
            line = [tenant for tenant in line if left[tenant]]
        return dealt


def _give(dealt: list[str], left: dict[str, int], tenant: str, slots: int) -> None:
    slots = min(slots, left[tenant])
    dealt += [tenant] * slots
    left[tenant] -= slots


# Weights


def read_weights(value: object, name: str) -> dict[str, int]:
    """From a table, or from a text such as acme=3,beta=2. A tenant that is not named has the weight 1."""
    given = dict(_from_text(value, name)) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{name}={brief(value)} is not possible: write {{'acme': 3}}, or in a file [{name}] and below it acme = 3"
        )
    return {_org(org, name): _weight(given[org], f"{name}.{org}") for org in sorted(given)}


def show_weights(weights: Mapping[str, int]) -> str:
    return ", ".join(f"{org}={weight}" for org, weight in weights.items())


def _from_text(text: str, name: str) -> Iterator[tuple[str, object]]:
    for part in filter(None, (part.strip() for part in text.split(","))):
        org, equals, weight = (piece.strip() for piece in part.rpartition("="))
        if not equals:
            raise ConfigError(f"{name}: {brief(part)} is not a weight: write it like acme=3")
        yield org, as_number(weight)


def _org(value: object, name: str) -> str:
    """Whatever can be the name of a tenant."""
    if isinstance(value, str) and is_text(value, NAME_LENGTH_MAX):
        return value
    raise ConfigError(
        f"{name}: {brief(value)} is not the name of a tenant: a text of 1 to {NAME_LENGTH_MAX} characters, {UNSTORABLE}"
    )


def _weight(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= WEIGHT_MAX:
        raise ConfigError(
            f"{name}={brief(value)} is not possible: a weight is how many turns in a row a tenant has, "
            f"a whole number from 1 to {WEIGHT_MAX}"
        )
    return value
