"""Limits: who may pass a gate now, who is parked before it, and who is next.

What is held is derived from leases, and what was started from permits: nothing that could leak is counted. Whoever
decides about a gate has locked its row and then looks at what is held; whoever makes room sets the moment at which a
claim should look (penstock.admit and penstock.open_gates in the migrations).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.gates import Gate
from penstock.store import contract as p
from penstock.store.postgres.hot.mend import soundly
from penstock.store.sql.gating import (
    Seen,
    changed_limits,
    gates_by_name,
    overflow,
    places_of,
    read_limits,
    refuse_two_limits,
    refuse_unlike,
    seen_in,
)
from penstock.store.sql.steps import Steps, as_json, run

_decode = msgspec.json.Decoder(tuple[Gate, ...]).decode


def decode_gates(text: str | None) -> tuple[Gate, ...] | None:
    return None if text is None else _decode(text)


def admit_steps(claims: Sequence[p.Claim], free: int) -> Steps[tuple[list[p.Claim], bool, list[p.Claim]]]:
    """Those that may begin, whether some went back because they are more than the worker can begin at once, and those
    that a person has cancelled."""
    gated = [claim.token for claim in claims if claim.gates]
    [(passed, back, at, stopped, _)] = yield from soundly("admit", tokens=gated, free=max(0, free))
    allowed = set(passed)
    admitted = [
        msgspec.structs.replace(claim, passed_at=at) if claim.gates else claim
        for claim in claims
        if not claim.gates or claim.token in allowed
    ]
    return admitted, bool(back), [claim for claim in claims if claim.token in stopped]


def park_steps(jobs: Sequence[p.NewJob], own: bool, strict: bool) -> Steps[dict[str, int]]:
    """Which of these new jobs wait before a gate from the start, and before which.

    Not in a transaction of the caller's (`own` is False): gates would be locked until its end. A claim finds out.
    """
    gates = gates_by_name(jobs)
    seen = yield from _read(gates)
    missing = {name: gate for name, gate in gates.items() if name not in seen}
    if missing and strict:
        refuse_unlike(jobs, missing, (yield from _unended(missing)))
    if missing and own:
        yield from run("make_gates", gates=as_json(list(missing.values())))
        seen |= yield from _read(missing)
    if strict:
        changed = changed_limits(gates, seen)
        if changed and own:
            seen |= yield from _change(changed)
            changed = []
        refuse_two_limits(
            jobs, {name: one for name, one in seen.items() if name not in {gate.name for gate in changed}}
        )
    if not own:
        return {}
    parked = overflow(jobs, seen)
    if parked:
        kept = {gate for (gate,) in (yield from run("lock_gates", gates=sorted(set(parked.values()))))}
        parked = {job: gate for job, gate in parked.items() if gate in kept}
    again = sorted({one.gate for one in seen.values() if one.parked or one.ordered} & set(parked.values()))
    if again:  # Those who waited there may all be gone before this commits; and the first in line may be among these.
        yield from run("wake_gates", gates=again)
    return parked


def _read(names: Iterable[str]) -> Steps[dict[str, Seen]]:
    return {row[1]: Seen(*row) for row in (yield from run("read_gates", names=sorted(names)))}


def _unended(gates: Mapping[str, Gate]) -> Steps[dict[str, Seen]]:
    """What jobs that have not ended say of gates that were forgotten, or are not made yet."""
    found = yield from run("unended_gates", names=sorted(gates))
    if not found:
        return {}
    fixed = {limit.origin for limit in (yield from read_limits())}
    return {name: seen_in(decode_gates(text) or (), name, gates[name].origin in fixed) for name, text in found}


def _change(gates: Sequence[Gate]) -> Steps[dict[str, Seen]]:
    names = sorted(gate.name for gate in gates)
    yield from run("change_gates", gates=as_json(gates))
    yield from run("line_up_parked", names=names)
    return (yield from _read(names))


def line_up_steps(jobs: Sequence[p.NewJob]) -> Steps[None]:
    """New jobs of ordered gates join their lines, in the order of the call."""
    places = places_of(jobs)
    if places:
        specs = {job.id: job.spec for job in jobs}
        yield from run(
            "line_up",
            names=list(places.values()),
            ids=list(places),
            ats=[specs[id_].at for id_ in places],
            delays=[int(specs[id_].delay * MICROSECONDS) for id_ in places],
        )


def wake_steps(gates: str) -> Steps[None]:
    """A job with these gates will not pass them after all: somebody should look at them."""
    seen = yield from run("read_gates", names=[gate.name for gate in _decode(gates)])
    yield from run("wake_gates", gates=[row[0] for row in seen])
    yield from run("notify")
