"""Who passes which gate: what the engines decide alike, apart from how they store it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import msgspec

from penstock.domain.errors import ConfigError
from penstock.domain.gates import Gate, words_of
from penstock.domain.room import Cap, left_of
from penstock.store.params import Claim, ClaimJobs, NewJob

_gates = attrgetter("gates")


def any_limited(claims: Iterable[Claim]) -> bool:
    """Whether some have limits; asked of every claim, so it is done without a step of the interpreter for each job."""
    return any(map(_gates, claims))


@dataclass(slots=True)
class Seen:
    """A gate as it is in a transaction. `room`: how many more may pass. `fixed`: the config has set its number.
    `ordered`: only the first in line may pass.
    """

    gate: int
    name: str
    most: int
    period: int | None
    origin: str
    room: int
    parked: bool
    fixed: bool
    ordered: bool


def refuse_two_limits(jobs: Sequence[NewJob], seen: Mapping[str, Seen]) -> None:
    """A key means one thing everywhere: two numbers for it are a mistake in the code."""
    for gate in dict.fromkeys(gate for job in jobs for gate in job.gates):
        found = seen.get(gate.name)
        if found is None or (
            found.ordered == gate.ordered and (found.fixed or (found.most, found.period) == (gate.most, gate.period))
        ):
            continue
        raise ConfigError(
            f"the key {gate.key!r} has two limits: {words_of(found.most, found.period, found.ordered)} by "
            f"{found.origin.partition(':')[2]!r}, and {words_of(gate.most, gate.period, gate.ordered)} by "
            f"{gate.origin.partition(':')[2]!r}; give both the same, or other keys"
        )


def gates_by_name(jobs: Sequence[NewJob]) -> dict[str, Gate]:
    """Each as the first of the jobs declares it."""
    return {gate.name: gate for job in reversed(jobs) for gate in job.gates}


def overflow(jobs: Sequence[NewJob], seen: Mapping[str, Seen]) -> dict[str, int]:
    """Which new jobs wait before a gate from the start, and before which: no more than it lets through go ahead."""
    left = {
        gate.name: gate.most for job in jobs for gate in job.gates
    }  # One may have been forgotten by others meanwhile.
    left |= {name: 0 if one.parked else one.most for name, one in seen.items()}
    parked: dict[str, int] = {}
    for job in {job.id: job for job in jobs}.values():
        full = next((gate for gate in job.gates if left[gate.name] <= 0 and gate.name in seen), None)
        if full is not None:
            parked[job.id] = seen[full.name].gate
            continue
        if not job.spec.delay:
            for gate in job.gates:
                left[gate.name] -= 1
    return parked


def places_of(jobs: Iterable[NewJob]) -> dict[str, str]:
    """Which of the jobs stand in line before which ordered gate: its name by their ids, in the order of the call."""
    return {job.id: gate.name for job in jobs for gate in job.gates if gate.ordered}


def room_for(job: str, gate: Seen, first: Mapping[str, str | None]) -> bool:
    """Whether this job may pass. `first` says who is first in line before the gates that are ordered."""
    return gate.room > 0 and (not gate.ordered or first[gate.name] == job)


def rest_of(claim: ClaimJobs, passed: Sequence[Claim]) -> ClaimJobs:
    """What is left to claim after these: slots, resources, and jobs of limited types."""
    if not passed:
        return claim
    used = [job.resources for job in passed if job.resources is not None]
    return msgspec.structs.replace(
        claim,
        limit=claim.limit - len(passed),
        at_once=None if claim.at_once is None else claim.at_once - sum(bool(job.gates) for job in passed),
        free=left_of(claim.free or claim.resources, used) if used else claim.free,
        caps=tuple(Cap(cap.names, cap.left - sum(job.type in cap.names for job in passed)) for cap in claim.caps),
    )
