"""Who passes which gate: what the engines decide alike, apart from how they store it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import msgspec

from penstock.domain.errors import ConfigError
from penstock.domain.flow.claim_budget import Cap, left_of
from penstock.domain.flow.gates import Gate, Limit, words_of
from penstock.store.contract import Claim, ClaimJobs, NewJob
from penstock.store.sql.steps import Steps, run

_gates = attrgetter("gates")


def any_limited(claims: Iterable[Claim]) -> bool:
    """Whether some have limits; asked of every claim, so it is done without a step of the interpreter for each job."""
    return any(map(_gates, claims))


def read_limits() -> Steps[list[Limit]]:
    """Those that the config has set."""
    return [Limit(*row) for row in (yield from run("read_limits"))]


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
    declarer: str | None = None


def refuse_two_limits(jobs: Iterable[NewJob], seen: Mapping[str, Seen]) -> None:
    """A key means one thing everywhere: two numbers for it are a mistake in the code."""
    for gate in dict.fromkeys(gate for job in jobs for gate in job.gates):
        found = seen.get(gate.name)
        if found is not None and _differs(found, gate):
            raise _two_limits(found, gate)


def changed_limits(gates: Mapping[str, Gate], seen: Mapping[str, Seen]) -> list[Gate]:
    """Those whose declaration has another number than the gate, or another order, and may change it: they are the
    declaration that gave it. Such a change was deployed; two that differ at the same time have two declarers.
    """
    found = ((seen.get(name), gate) for name, gate in gates.items())
    return [gate for one, gate in found if one is not None and _differs(one, gate) and _is_same(one, gate)]


def refuse_unlike(jobs: Iterable[NewJob], gates: Mapping[str, Gate], waiting: Mapping[str, Seen]) -> None:
    """The same where no gate is there, but jobs that have not ended name it: what they say is what it is."""
    changed = {gate.name for gate in changed_limits(gates, waiting)}
    refuse_two_limits(jobs, {name: one for name, one in waiting.items() if name not in changed})


def seen_in(gates: Iterable[Gate], name: str, fixed: bool) -> Seen:
    """A gate as a job that has not ended names it."""
    gate = next(gate for gate in gates if gate.name == name)
    return Seen(
        0, name, gate.most, gate.period, gate.origin, 0, parked=False, fixed=fixed, ordered=gate.ordered,
        declarer=gate.declarer,
    )  # fmt: skip


def _differs(found: Seen, gate: Gate) -> bool:
    return found.ordered != gate.ordered or not (found.fixed or (found.most, found.period) == (gate.most, gate.period))


def _is_same(found: Seen, gate: Gate) -> bool:
    unknown = found.declarer is None or gate.declarer is None
    return found.origin == gate.origin and (unknown or found.declarer == gate.declarer != "")


def _two_limits(found: Seen, gate: Gate) -> ConfigError:
    option = "concurrency_limits" if gate.period is None else "rate_limits"
    return ConfigError(
        f"the key {gate.key!r} has two limits: {words_of(found.most, found.period, found.ordered)} by "
        f"{_said(found.origin, found.declarer)}, and {words_of(gate.most, gate.period, gate.ordered)} by "
        f"{_said(gate.origin, gate.declarer)}; give both the same, or other keys, or set the number for all in "
        f"[{option}] of the config"
    )


def _said(origin: str, declarer: str | None) -> str:
    key = repr(origin.partition(":")[2])
    return f"{key} of {declarer}" if declarer else f"{key} in using()" if declarer == "" else key


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
