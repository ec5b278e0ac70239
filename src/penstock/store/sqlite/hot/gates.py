"""Limits: who may pass a gate now, who is parked before it, and who is next.

What is held is derived from leases, and what was started from permits: nothing that could leak is counted. One
place lets parked jobs through, the claim, when a gate's moment has come; whoever makes room only sets that moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from penstock.domain.flow.gates import Gate, Limit
from penstock.store import contract as p
from penstock.store.sql.endings import Ending
from penstock.store.sql.gating import (
    Seen,
    changed_limits,
    gates_by_name,
    overflow,
    refuse_two_limits,
    refuse_unlike,
    room_for,
    seen_in,
)
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot.lines import first_in_line, line_up_late, line_up_parked

_decode = msgspec.json.Decoder(tuple[Gate, ...]).decode

FORGOTTEN_MAX = 1000


def read_gates(tx: Tx, names: Iterable[str], wanted: int = 0) -> dict[str, Seen]:
    """The gates as they are now. Where there is room for fewer than `wanted`, starts that no longer count go."""
    found = {row[1]: Seen(*row) for row in tx.run("read_gates", names=as_json(list(names)))}
    for one in found.values():
        if one.period is not None and one.room < wanted:
            one.room += _forget_old(tx, one, wanted - one.room)
    return found


def _make_gates(tx: Tx, gates: Collection[Gate]) -> None:
    """Those that are not there yet."""
    tx.change("make_gates", gates=as_json(list(gates)))


def _forget_old(tx: Tx, gate: Seen, limit: int) -> int:
    assert gate.period is not None
    tx.change("bring_permits_back", gate=gate.gate, now=tx.now)
    old = tx.change("forget_old_permits", gate=gate.gate, before=tx.now - gate.period, limit=limit)
    if old:
        tx.change("count_permits", gate=gate.gate, more=-old)
    return old


# Passing


def admit(tx: Tx, claims: Sequence[p.Claim], free: int) -> tuple[list[p.Claim], bool]:
    """Those of the leased jobs that may begin. Before a full gate they are parked; over `free`, they go back.

    The second answer is whether some went back.
    """
    named = {gate.name: gate for claim in claims for gate in claim.gates or ()}
    _make_gates(tx, named.values())
    gates = read_gates(tx, named, wanted=len(claims))
    first = _look_who_is_first(tx, claims, gates)
    passed: list[p.Claim] = []
    parked: list[tuple[int, int]] = []
    back: list[tuple[int]] = []
    holds: dict[int, list[int]] = {}
    limited = 0
    for claim in claims:
        mine = [gates[gate.name] for gate in claim.gates or ()]
        full = next((gate for gate in mine if not room_for(claim.id, gate, first)), None)
        if full is not None:
            parked.append((claim.token, full.gate))
        elif mine and limited >= free:
            back.append((claim.token,))
        else:
            passed.append(claim)
            limited += bool(mine)
            for gate in mine:
                gate.room -= 1
                holds.setdefault(gate.gate, []).append(claim.token)
    _hold(tx, gates.values(), holds)
    _send_away(tx, parked, back)
    timed = [(gate.gate, tx.now if gate.room > 0 else None) for gate in gates.values() if gate.period is not None]
    if timed:
        tx.change("set_wakes", wakes=as_json(timed))
    return passed, bool(back)


def _look_who_is_first(tx: Tx, claims: Sequence[p.Claim], gates: dict[str, Seen]) -> dict[str, str | None]:
    if not any(gate.ordered for gate in gates.values()):
        return {}
    line_up_late(tx, claims, gates)
    return first_in_line(tx, gates.values())


def _hold(tx: Tx, gates: Iterable[Seen], holds: dict[int, list[int]]) -> None:
    rows = [(gate, token) for gate, tokens in holds.items() for token in tokens]
    if rows:
        tx.change("insert_holds", holds=as_json(rows), now=tx.now)
    for gate in gates:
        tokens = holds.get(gate.gate)
        if tokens and gate.period is not None:
            tx.change("insert_permits", gate=gate.gate, tokens=as_json(tokens), now=tx.now)
            tx.change("count_permits", gate=gate.gate, more=len(tokens))


def _send_away(tx: Tx, parked: list[tuple[int, int]], back: list[tuple[int]]) -> None:
    if parked:
        tx.change("park_leased_jobs", rows=as_json(parked))
    if back:
        tx.change("ready_unleased_jobs", rows=as_json(back))
    if parked or back:
        tx.change("delete_leases", rows=as_json([*parked, *back]))


# Making room


def release_completed(tx: Tx, done: str) -> None:
    wake_gates(tx, {gate for (gate,) in tx.run("release_completed", done=done)})


def release_ended(tx: Tx, rows: str, endings: Sequence[Ending]) -> None:
    """A start that was given back before it began does not count."""
    released = tx.run("release_ended", rows=rows)
    if not released:
        return
    unused = {end.token for end in endings if end.give_back and end.started_at is None}
    for gate, token, at in released:
        if token in unused and tx.change("return_permit", gate=gate, at=at, token=token):
            tx.change("count_permits", gate=gate, more=-1)
    wake_gates(tx, {gate for gate, _, _ in released})


def wake_gates(tx: Tx, gates: Iterable[int]) -> None:
    """Somebody should look at these now."""
    found = list(gates)
    if found and tx.change("wake_gates", gates=as_json(found), now=tx.now):
        tx.wake = True


def wake_gates_of(tx: Tx, gates: str) -> None:
    """The same by what a job says of its gates: it will not pass them after all."""
    names = [gate.name for gate in _decode(gates)]
    wake_gates(tx, (seen.gate for seen in read_gates(tx, names).values()))


# Enqueueing


def park_new(tx: Tx, jobs: Sequence[p.NewJob], last_job: int, strict: bool) -> dict[str, int]:
    """Which of these jobs, the first after `last_job`, wait before a gate from the start, and before which."""
    gates = gates_by_name(jobs)
    seen = read_gates(tx, gates)
    missing = {name: gate for name, gate in gates.items() if name not in seen}
    if missing:
        _make_gates(tx, missing.values())
        seen |= read_gates(tx, missing)
    if strict:
        if missing:
            refuse_unlike(jobs, missing, _unended(tx, missing, seen, last_job))
        seen |= _change(tx, changed_limits(gates, seen))
        refuse_two_limits(jobs, seen)
    return overflow(jobs, seen)


def _unended(tx: Tx, names: Iterable[str], seen: dict[str, Seen], last_job: int) -> dict[str, Seen]:
    """What jobs that have not ended say of gates that were forgotten."""
    found = tx.run("unended_gates", names=as_json(list(names)), last_job=last_job)
    return {name: seen_in(_decode(text), name, seen[name].fixed) for name, text in found if text}


def _change(tx: Tx, gates: Sequence[Gate]) -> dict[str, Seen]:
    if not gates:
        return {}
    names = [gate.name for gate in gates]
    tx.change("change_gates", gates=as_json(gates), now=tx.now)
    line_up_parked(tx, names)
    tx.wake = True
    return read_gates(tx, names)


# The config, and tidying up


def fix_limits(tx: Tx, limits: Sequence[Limit]) -> None:
    tx.change("forget_limits")
    for limit in limits:
        tx.change("fix_limit", origin=limit.origin, most=limit.most, period=limit.period)
    if tx.change("fix_gates", now=tx.now):
        tx.wake = True


def tend_gates(tx: Tx) -> None:
    """What nobody else sees to: gates with room that nobody looks at, and what is left of those nobody needs."""
    tx.change("forget_holds")
    tx.change("bring_wakes_back", now=tx.now)
    wake_gates(tx, tx.array("stuck_gates"))
    forgotten = tx.run("forget_gates", now=tx.now, limit=FORGOTTEN_MAX)
    if forgotten:
        tx.change("forget_permits", gates=as_json([gate for gate, _ in forgotten]))
        tx.change("forget_tickets", names=as_json([name for _, name in forgotten]), now=tx.now)
