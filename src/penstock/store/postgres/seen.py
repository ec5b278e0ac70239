"""What one connection knows of the lanes, and jobs as a claim reads them.

It makes a claim cost the same with any backlog and under any long transaction: where each lane goes on, as of a
snapshot. See docs/decisions/0011-postgres-storage.md.
"""

from __future__ import annotations

import time
from itertools import compress
from typing import Any, NamedTuple

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.options import NO_RESOURCES, Resources, Tenant
from penstock.domain.room import is_scarce
from penstock.domain.routing import why_not
from penstock.domain.turns import Turns
from penstock.store.params import Claim, ClaimJobs
from penstock.store.postgres.gates import decode_gates
from penstock.store.postgres.mend import tell_removed
from penstock.store.turns import Kind, kind_of

HEADS_AGAIN_SECONDS = 60.0
HEADS_SHARE_MAX = 0.01
LANES_MIN = 8
HORIZON_US = 60 * MICROSECONDS
NO_HORIZON = 2**63 - 1
FIRST_ID = "00000000-0000-0000-0000-000000000000"

_tags = msgspec.json.Decoder(tuple[str, ...]).decode


class Lane(msgspec.Struct, frozen=True):
    """A route, as the judge of who may take from it sees it."""

    type: str
    queue: str
    capability: str
    resources: Resources
    priority: int


class Eligible(NamedTuple):
    """The lanes that a claim may take from, among so many known: all; those whose jobs need nothing that has to be
    counted; those whose jobs do; those whose jobs may stand in for each other, by kind and priority; and which of
    these kinds have to be counted.
    """

    known: int
    all: list[int]
    plain: list[int]
    scarce: list[int]
    alike: dict[tuple[Kind, int], list[int]]
    counted: frozenset[Kind]


class Seen:
    """What one connection has seen of the lanes. It is forgotten with the connection."""

    def __init__(self) -> None:
        self.lanes: dict[int, Lane] = {}
        self.orders: int | None = None
        self._paused: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self.first: dict[int, tuple[int, str]] = {}
        self.upto: str | None = None
        self.where = ""
        """Which server and which tables this is true of."""
        self._moment, self._at = 0, 0.0
        self.open: list[str] = []
        self.headed_at = 0.0
        self.headed_for = 0.0
        self.expired_upto = 0
        self.expired_at = 0.0
        self.wake_at: int | None = None
        self.judged = False
        """Whether the claim that is under way was found to be one of a worker that gets jobs."""
        self.width = LANES_MIN
        self._eligible: dict[tuple[object, ...], Eligible] = {}
        self.turns = Turns()
        self.looked_upto: dict[str, str] = {}
        """Tenants of a queue after which to go on looking, where there were too many to look at all of them."""

    def heed(self, orders: int, queues: list[str], types: list[str]) -> None:
        """Remember what is paused, and as of which order."""
        self.orders, self._paused = orders, (frozenset(queues), frozenset(types))
        self._eligible.clear()

    def learn(self, lanes: dict[int, Lane]) -> None:
        """Remember all lanes that there are. What was known before may be of tables that are gone."""
        if lanes != self.lanes:
            self.lanes = lanes
            self._eligible.clear()

    def look(self, snapshot: str) -> None:
        """Remember a snapshot: `xmin:xmax:in progress`."""
        _, self.upto, open_ = snapshot.split(":")
        self.open = open_.split(",") if open_ else []

    def note(self, moment: int) -> None:
        """Remember the server's time."""
        self._moment, self._at = moment, time.monotonic()

    @property
    def now(self) -> int:
        """About the server's time."""
        return self._moment + int((time.monotonic() - self._at) * MICROSECONDS)

    def eligible(self, claim: ClaimJobs) -> Eligible:
        """The lanes that this claim may take from."""
        key = (claim.types, claim.queues, claim.capabilities, claim.resources, tuple(cap.names for cap in claim.caps))
        found = self._eligible.get(key)
        if found is None or found.known != len(self.lanes):
            if len(self._eligible) > 64:
                self._eligible.clear()
            found = self._eligible[key] = self._find_eligible(claim)
        return found

    def _find_eligible(self, claim: ClaimJobs) -> Eligible:
        queues, types = self._paused
        lanes = {
            number: lane
            for number, lane in self.lanes.items()
            if lane.queue not in queues and lane.type not in types and not why_not(claim, lane)
        }
        scarce = {number: lane for number, lane in lanes.items() if is_scarce(lane, claim.caps)}
        alike: dict[tuple[Kind, int], list[int]] = {}
        for number, lane in lanes.items():
            alike.setdefault((kind_of(lane.queue, scarce.get(number)), lane.priority), []).append(number)
        counted = frozenset(kind_of(lane.queue, lane) for lane in scarce.values())
        plain = [number for number in lanes if number not in scarce]
        return Eligible(len(self.lanes), list(lanes), plain, list(scarce), alike, counted)

    @property
    def horizon(self) -> int:
        """Up to when to look for where a lane goes on. An open transaction may have put any number of jobs behind that:
        each claim would walk over them. A minute or two; whole ones, so that the same is found twice in a row.
        """
        return (self.now // HORIZON_US + 2) * HORIZON_US if self.open else NO_HORIZON

    def go_on(self, lane: int, due: int | None, id_: str, horizon: int = NO_HORIZON) -> None:
        """Remember where a lane goes on. Without a moment nothing is left in it, as far as the horizon."""
        if due is not None:
            self.first[lane] = (due, id_)
        elif horizon == NO_HORIZON:
            self.first.pop(lane, None)
        else:
            self.first[lane] = (horizon, FIRST_ID)

    def place(self, lane: int) -> tuple[int, int, str]:
        """Where the first job of a lane stands in the order."""
        return -self.lanes[lane].priority, *self.first[lane]

    def adapt(self, limit: int, jobs: list[Claim], narrow: bool) -> bool:
        """Look into more lanes when those left out held jobs up, and into fewer when few gave all that was asked for.

        Jobs of many types come mixed, or one type after the other. Answers whether to look again at once.
        """
        if len(jobs) == limit and (narrow or self.width > LANES_MIN):
            used = len({(job.type, job.queue, job.priority) for job in jobs})
            self.width = max(LANES_MIN, 2 * used, self.width * 3 // 4)
        elif narrow and len(jobs) < limit:
            self.width *= 4
            return True
        return False

    def heads_are_due(self) -> bool:
        """A look at everything, now and then, costs little and trusts nothing."""
        pause = max(HEADS_AGAIN_SECONDS, self.headed_for / HEADS_SHARE_MAX)
        return self.upto is None or time.monotonic() - self.headed_at > pause


def _with_bodies(columns: list[Any]) -> list[Any]:
    """The rows that have a payload: the others are of pointers without a job, which are gone."""
    there = [payload is not None for payload in columns[5]]
    return [column and list(compress(column, there)) for column in columns]


def claims_of(seen: Seen, columns: list[Any]) -> list[Claim]:
    (
        tokens, ids, lanes, attempts, crashes, payloads, policies, created, dues, orgs, workspaces, tags, parents,
        gates,
    ) = columns  # fmt: skip
    if not tokens:
        return []
    if None in payloads:
        tell_removed([id_ for id_, payload in zip(ids, payloads, strict=True) if payload is None])
        return claims_of(seen, _with_bodies(columns))
    routes = [seen.lanes[lane] for lane in lanes]
    none: list[None] = [None] * len(tokens)
    return list(
        map(
            Claim,
            tokens,
            ids,
            [route.type for route in routes],
            [route.queue for route in routes],
            attempts,
            crashes,
            payloads,
            policies,
            [route.priority for route in routes],
            created,
            dues,
            [org and Tenant(org, workspace) for org, workspace in zip(orgs, workspaces or none, strict=True)]
            if orgs
            else none,
            [text and _tags(text) for text in tags] if tags else none,
            parents or none,
            [None if route.resources is NO_RESOURCES else route.resources for route in routes],
            map(decode_gates, gates) if gates else none,
        )
    )
