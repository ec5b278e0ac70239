"""Opening gates: the next of the parked jobs are let through where there is room, for all gates of the moment at once.

By priority, then by due time; where jobs of several tenants wait before one gate, they take turns, one of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from penstock.store.sql.gating import Seen
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot.gates import read_gates
from penstock.store.sqlite.hot.lines import first_in_line, line_up_parked
from penstock.store.sqlite.hot.mend import ready_parked

OPENED_MAX = 200
PASSING_MAX = 1000


def open_gates(tx: Tx) -> int | None:
    """Let the next through where the moment has come; answers when that is the next time."""
    gates = read_gates(tx, tx.array("due_gates", now=tx.now, limit=OPENED_MAX), wanted=PASSING_MAX)
    wide = [gate for gate in gates.values() if gate.room > 0]
    _let_first_through(tx, [gate for gate in wide if gate.ordered])
    rooms = {gate.gate: min(gate.room, PASSING_MAX) for gate in wide if not gate.ordered}
    while rooms:
        went = _let_through(tx, rooms)
        rooms = {gate: rooms[gate] - went[gate] for gate in rooms if 0 < went[gate] < rooms[gate]}
    wakes = [(gate.gate, tx.now if gate.room > PASSING_MAX else None) for gate in gates.values()]
    tx.change("set_wakes", wakes=as_json(wakes))
    following: int | None = tx.value("next_wake")
    return following


class _Lane(NamedTuple):
    """Jobs that wait before a gate, of its highest priority: between which tenants, and whose turn it is."""

    gate: int
    lane: int
    priority: int
    first: str
    last: str
    next: str | None

    @property
    def shared(self) -> bool:
        return self.first != self.last

    @property
    def org(self) -> str:
        return self.first if self.next is None or not self.shared else self.next


def _let_through(tx: Tx, rooms: Mapping[int, int]) -> Counter[int]:
    """As many as there is room for, or one where tenants take turns. Answers how many went, of the longest lane."""
    lanes = [_Lane(*row) for row in tx.run("parked_lanes", gates=as_json(list(rooms)))]
    by_room: dict[int, list[_Lane]] = defaultdict(list)
    for lane in lanes:
        by_room[1 if lane.shared else rooms[lane.gate]].append(lane)
    went = Counter[int]()
    opened: list[int] = []
    for room, some in by_room.items():
        asked = as_json([(lane.gate, lane.lane, lane.priority, lane.org) for lane in some])
        found = tx.run("parked_jobs", lanes=asked, jobs=room)
        opened += [seq for _, seq in found]
        for gate, count in Counter(gate for gate, _ in found).items():
            went[gate] = max(went[gate], min(count, room))
    if not _move(tx, opened):
        went.update(_let_through(tx, {gate: rooms[gate] for gate in went}))  # Some took a turn, and will not use it.
    turns = [(lane.gate, lane.org) for lane in lanes if lane.shared]
    if turns:
        tx.change("note_turns", turns=as_json(turns))
    return went


def _let_first_through(tx: Tx, gates: list[Seen]) -> None:
    """The first in line, if it is parked here and does not wait elsewhere, for its next attempt perhaps."""
    firsts = first_in_line(tx, gates)
    if None in firsts.values():  # Those who are parked there came before the gate was ordered.
        line_up_parked(tx, [name for name, first in firsts.items() if first is None])
        firsts = first_in_line(tx, gates)
    if gates:
        _move(tx, tx.array("parked_firsts", rows=as_json([(gate.gate, firsts[gate.name]) for gate in gates])))


def _move(tx: Tx, seqs: list[int]) -> bool:
    """Whether all of them may be claimed now."""
    if not seqs:
        return True
    moved = ready_parked(tx, seqs)
    tx.change("unpark_jobs", seqs=as_json(seqs))
    return moved
