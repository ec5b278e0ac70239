"""The lanes that a claim may take from, found once for all claims that ask alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from penstock.domain.flow.claim_budget import is_scarce
from penstock.domain.flow.routing import why_not
from penstock.domain.options import Resources
from penstock.store.contract import ClaimJobs
from penstock.store.sql.turns import Kind, kind_of

REMEMBERED_MAX = 64


class Lane(msgspec.Struct, frozen=True):
    """A route, as the judge of who may take from it sees it. On SQLite jobs of all priorities are in one lane."""

    type: str
    queue: str
    capability: str
    resources: Resources
    priority: int = 0


class Eligible(NamedTuple):
    """The lanes that a claim may take from, as of what was known: all; those whose jobs need nothing that has to be
    counted; those whose jobs do; those whose jobs may stand in for each other, by kind and priority; and which of these
    kinds have to be counted.
    """

    known: object
    all: list[int]
    plain: list[int]
    scarce: dict[int, Lane]
    alike: dict[tuple[Kind, int], list[int]]
    counted: frozenset[Kind]


class EligibleLanes:
    """Remembered by what a claim asks for, until more lanes are known."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Eligible] = {}

    def clear(self) -> None:
        self._found.clear()

    def of(self, claim: ClaimJobs, known: object, lanes: Callable[[], dict[int, Lane]]) -> Eligible:
        """Among these lanes, from which jobs are given out to somebody; `known` changes with them."""
        key = (claim.types, claim.queues, claim.capabilities, claim.resources, tuple(cap.names for cap in claim.caps))
        found = self._found.get(key)
        if found is None or found.known != known:
            if len(self._found) > REMEMBERED_MAX:
                self._found.clear()
            found = self._found[key] = _find(claim, known, lanes())
        return found


def _find(claim: ClaimJobs, known: object, given_out: dict[int, Lane]) -> Eligible:
    lanes = {number: lane for number, lane in given_out.items() if not why_not(claim, lane)}
    scarce = {number: lane for number, lane in lanes.items() if is_scarce(lane, claim.caps)}
    alike: dict[tuple[Kind, int], list[int]] = {}
    for number, lane in lanes.items():
        alike.setdefault((kind_of(lane.queue, scarce.get(number)), lane.priority), []).append(number)
    counted = frozenset(kind_of(lane.queue, lane) for lane in scarce.values())
    plain = [number for number in lanes if number not in scarce]
    return Eligible(known, list(lanes), plain, scarce, alike, counted)
