"""Who uses the slots that a claim got: what the engines decide alike, apart from how they find and take the jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter

from penstock.domain.flow.claim_budget import Needs
from penstock.domain.flow.fair_shares import FairShares
from penstock.domain.options import NO_RESOURCES
from penstock.store.contract import Claim, ClaimJobs

Kind = tuple[Hashable, ...]
"""What jobs have in common that may stand in for each other: the queue, and what has to be counted of them."""

TIMES_SHORT_MAX = 5
"""So often a claim looks for whom to give the turns of tenants that turned out to have nothing for it."""

_tenant = attrgetter("tenant")


def any_shared(claims: Iterable[Claim]) -> bool:
    """Whether some have tenants. See any_limited()."""
    return any(map(_tenant, claims))


def kind_of(queue: str, scarce: Needs | None = None) -> Kind:
    return (queue,) if scarce is None else (queue, scarce.type, scarce.resources)


class Share:
    """The slots that a claim got for jobs of one kind and priority, and the tenants that share them.

    `places` says where the jobs are among all that were claimed.
    """

    def __init__(self, turns: FairShares, weights: Mapping[str, int], kind: Kind, places: Mapping[int, Claim]) -> None:
        self._turns, self._weights, self._places = turns, weights, list(places)
        first = next(iter(places.values()))
        self.kind, self.queue, self.priority, self.slots = kind, first.queue, first.priority, len(places)
        self._jobs: dict[str, list[Claim]] = {}
        self._waiting: set[str] = set()
        self._short: set[str] = set()
        self._times_short = 0
        self._add(places.values())

    @property
    def last(self) -> str:
        """Who had the last turn."""
        return self._turns.last(self.queue)

    def wanted(self, waiting: Iterable[str] = ()) -> dict[str, int]:
        """How many more jobs are wanted, of which tenants. Those that are `waiting` have some."""
        self._waiting.update(tenant for tenant in waiting if tenant not in self._short)
        if self._turns.goes_on(self.queue, self._weights) and self.last not in self._short:
            self._waiting.add(self.last)
        shares = Counter(self._dealt())
        more = {tenant: count - len(self._jobs.get(tenant, ())) for tenant, count in shares.items()}
        return {tenant: count for tenant, count in more.items() if count > 0}

    @property
    def looked_for(self) -> int:
        """How many tenants are worth looking for. What some have, this worker may have to leave to others for now:
        after those there may be more.
        """
        return self.slots + 4 * len(self._short)

    def took(self, wanted: Mapping[str, int], jobs: Sequence[Claim]) -> bool:
        """These were found. Whether they are fewer than were wanted: then others have those turns. Who has none after
        several looks is not waited for: then those have them whose jobs are here.
        """
        self._add(jobs)
        found = Counter(job.tenant.org for job in jobs if job.tenant is not None)
        short = {tenant for tenant, count in wanted.items() if found[tenant] < count}
        self._waiting -= short
        self._short |= short
        self._times_short += bool(short)
        if self._times_short < TIMES_SHORT_MAX:
            return bool(short)
        self._waiting.clear()
        return False

    def settle(self, jobs: list[Claim | None]) -> list[Claim]:
        """Put those that are to run into their places, in turn. Answers those to give back."""
        left = {tenant: iter(mine) for tenant, mine in self._jobs.items()}
        kept = [next(left[tenant]) for tenant in self._dealt()]
        self._turns.note(kept)
        for place in self._places:
            jobs[place] = None
        for place, job in zip(self._places, kept, strict=False):
            jobs[place] = job
        return [job for rest in left.values() for job in rest]

    def _add(self, jobs: Iterable[Claim]) -> None:
        for job in jobs:
            assert job.tenant is not None
            self._jobs.setdefault(job.tenant.org, []).append(job)

    def _dealt(self) -> list[str]:
        most = {tenant: len(jobs) for tenant, jobs in self._jobs.items()}
        most |= dict.fromkeys(self._waiting, self.slots)
        return self._turns.deal(self.queue, self.slots, most, self._weights)


def shares_of(turns: FairShares, claim: ClaimJobs, jobs: Sequence[Claim], counted: Collection[Kind]) -> list[Share]:
    """The jobs of tenants whose places others might have. `counted` are the kinds that have to be counted.

    A claim that got less than it asked for has taken all there is; but maybe not of what has to be counted. What one
    share gives counts for the next, but for good only what can begin: see FairShares.note().
    """
    turns = turns.copy()
    full = len(jobs) >= claim.limit
    groups: dict[tuple[Kind, int], dict[int, Claim]] = {}
    for place, job in enumerate(jobs):
        if job.tenant is not None:
            kind: Kind = (job.queue, job.type, job.resources or NO_RESOURCES)
            if kind in counted:
                groups.setdefault((kind, job.priority), {})[place] = job
            elif full:
                groups.setdefault((kind_of(job.queue), job.priority), {})[place] = job
    return [Share(turns, claim.weights, kind, places) for (kind, _), places in groups.items()]
