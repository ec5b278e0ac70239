"""Safeguards of the store in a file that can be taken away: without any of them, one of the nets must find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import apsw

from penstock.store.sql.steps import Steps
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.tx import NO_LANE, Lanes, Tx
from penstock.store.sqlite.hot import finish
from tests.nets.power import PowerNet, Verdict as CutVerdict
from tests.nets.writes import Verdict, WriteNet

Ablation = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Safeguard:
    """`caught_by` is a pair of operations for the net of two processes, or one for that of cut power; `where` is a word
    of the boundaries at which it is.
    """

    name: str
    without: Ablation
    caught_by: tuple[str, ...]
    where: str = ""


def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Ablation:
    """A function that is made of the one that is there."""
    return lambda: mock.patch.object(owner, name, make(getattr(owner, name)))


@contextmanager
def nothing_forgotten() -> Iterator[None]:
    with mock.patch.object(Lanes, "clear"), mock.patch.object(Lanes, "is_gone", return_value=False):
        yield


def own_lanes_only(eligible: Any) -> Any:
    return lambda self, tx, claim, last, orders: eligible(
        self, tx, claim, last if self._last is NO_LANE else self._last, orders
    )


def own_pauses_only(eligible: Any) -> Any:
    return lambda self, tx, claim, last, orders: eligible(
        self, tx, claim, last, orders if self._orders is None else self._orders
    )


def cut_in_two(follow: Any) -> Any:
    def both(engine: Any, *given: Any) -> Steps[None]:
        yield from follow(engine, *given)
        engine._tx.db.execute("COMMIT")
        engine._tx.db.execute("BEGIN IMMEDIATE")

    return both


def begun_late(self: OpenFile, db: apsw.Connection) -> Tx:
    db.execute("BEGIN")
    return Tx(db, self.clock.now_us(), self._lanes, self._random)


def never_synced(begin: Any) -> Any:
    return lambda self, durable: begin(self, False)


SAFEGUARDS: dict[str, Safeguard] = {
    one.name: one
    for one in (
        Safeguard(
            "a lane that was undone is forgotten",
            nothing_forgotten,
            ("enqueue again what was undone", "enqueue"),
            "at its end",
        ),
        Safeguard(
            "the lanes of others are looked for",
            replaced(Lanes, "eligible", own_lanes_only),
            ("enqueue in a new lane", "claim, knowing the lanes"),
            "at its end",
        ),
        Safeguard(
            "what others have paused is looked for",
            replaced(Lanes, "eligible", own_pauses_only),
            ("pause the queue", "claim, knowing the lanes"),
            "COMMIT",
        ),
        Safeguard(
            "the lock is taken before anything is read",
            replaced(OpenFile, "new_tx", lambda _: begun_late),
            ("enqueue the only one", "enqueue the only one"),
            "before INSERT",
        ),
        Safeguard(
            "an end and what follows it are one",
            replaced(finish, "follow", cut_in_two),
            ("complete with a follow-up", "enqueue"),
            "BEGIN IMMEDIATE",
        ),
        Safeguard(
            "an end and what follows it are one, also where power is cut",
            replaced(finish, "follow", cut_in_two),
            ("complete with a follow-up",),
        ),
        Safeguard("what is promised is synced", replaced(OpenFile, "begin", never_synced), ("enqueue",), "said"),
    )
}


def of_net(net: str) -> dict[str, Safeguard]:
    return {one.name: one for one in SAFEGUARDS.values() if (len(one.caught_by) == 1) == (net == "power")}


def noticed(writes: WriteNet, safeguard: Safeguard) -> Verdict | None:
    """The first run of two processes that finds something without it."""
    first, second = safeguard.caught_by
    writes.know(first, second)
    writes.take_away(safeguard.name)
    try:
        with safeguard.without():
            holds = [hold for hold in writes.holds(first, second) if safeguard.where in hold.what]
            assert holds, f"{safeguard.name}: nothing is held at {safeguard.where!r} any more"
            verdicts = (writes.run(first, second, hold) for hold in holds)
            return next((verdict for verdict in verdicts if verdict.problems), None)
    finally:
        writes.take_away(None)


def noticed_by_cuts(power: PowerNet, safeguard: Safeguard) -> CutVerdict | None:
    """The same of cut power."""
    [name] = safeguard.caught_by
    power.forget()
    try:
        with safeguard.without():
            power.record(name)
        verdicts = (power.run(name, cut) for cut in power.cuts(name) if safeguard.where in cut.what)
        return next((verdict for verdict in verdicts if verdict.problems), None)
    finally:
        power.forget()
