"""What one connection knows of the lanes, and jobs as a claim reads them.

It makes a claim cost the same with any backlog and under any long transaction: where each lane goes on, as of a
snapshot. See docs/decisions/0011-postgres-storage.md.
"""

from __future__ import annotations

import time
from itertools import compress, repeat
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.fair_shares import FairShares
from penstock.domain.options import NO_RESOURCES, Tenant
from penstock.store.contract import Claim, ClaimJobs, Happened
from penstock.store.postgres.hot.gates import decode_gates
from penstock.store.postgres.hot.mend import tell_removed
from penstock.store.sql.lanes import Eligible, EligibleLanes, Lane

HEADS_AGAIN_SECONDS = 60.0
HEADS_SHARE_MAX = 0.01
LANES_MIN = 8
HORIZON_US = 60 * MICROSECONDS
NO_HORIZON = 2**63 - 1
FIRST_ID = "00000000-0000-0000-0000-000000000000"

_tags = msgspec.json.Decoder(tuple[str, ...]).decode


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
        self.happened: list[Happened] = []
        """To others on the way of the claim that is under way."""
        self.width = LANES_MIN
        self._eligible = EligibleLanes()
        self.turns = FairShares()
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
        return self._eligible.of(claim, len(self.lanes), self._given_out)

    def _given_out(self) -> dict[int, Lane]:
        queues, types = self._paused
        return {
            number: lane for number, lane in self.lanes.items() if lane.queue not in queues and lane.type not in types
        }

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
        gates, snoozes,
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
            [times or 0 for times in snoozes] if snoozes else repeat(0),
            [route.capability for route in routes],
        )
    )
