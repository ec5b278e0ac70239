"""Two processes on one file, the first held at each boundary of its statements while the second runs: it ends, or waits
for the first, which then goes on or is killed. What is left is what one after the other leaves.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract.world import World
from tests.nets.afterwards import work_off
from tests.nets.file_judge import RULES, FileJudge, difference, mark
from tests.nets.file_scene import FIRST, FOLLOWING, IDS, SECOND, Past, Scene, open_world, said
from tests.nets.holding import LOOK_SECONDS, LOOK_SECONDS_MAX, PATIENCE_SECONDS, Doing
from tests.nets.invariants import Case, Killed, judge
from tests.nets.logged import errors_logged
from tests.nets.operations import OPERATIONS, Operation
from tests.nets.other import Answer, Hand, Hands

LOCKS = Path("/proc/locks")
BEGINNING, ENDING = "before BEGIN IMMEDIATE", ("before COMMIT", "before ROLLBACK")
AFTER = "after COMMIT"
POLLING_SECONDS = 1.0
"""Whoever has neither ended nor waits in the kernel by then waits by polling, or is slow."""
IN_KERNEL, BY_POLLING = "in the kernel", "by polling"


@dataclass(frozen=True)
class Hold:
    """At which boundary, by number, and what the first is there: killed, or let go on."""

    number: int
    what: str
    killed: bool

    def __str__(self) -> str:
        return f"{'killed' if self.killed else 'held'} {self.what}"


def at_writes(chance: random.Random, holds: list[Hold]) -> list[Hold]:
    """All of them but those inside of a transaction that writes, which nobody else sees: of these one, drawn."""
    chosen: list[Hold] = []
    inside: dict[int, list[Hold]] | None = None
    for hold in holds:
        if hold.what in ENDING:
            chosen += chance.choice([*inside.values()]) if inside else []
            inside = None
        if inside is None:
            chosen.append(hold)
        else:
            inside.setdefault(hold.number, []).append(hold)
        if hold.what == BEGINNING and hold.killed:
            inside = {}
    return chosen


@dataclass
class Verdict:
    """What became of it. `held` is False when the first never came there. In a file there are no `deadlocks`."""

    first: str
    second: str
    hold: Hold
    held: bool = False
    waited: str = ""
    checked: int = 0
    deadlocks: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def blocked(self) -> bool:
        return bool(self.waited)

    def __str__(self) -> str:
        waits = ", which waited" if self.blocked else ""
        return f"{self.first!r} {self.hold}, × {self.second!r}{waits}"


class WriteNet:
    """`without`: a safeguard that is taken away from the other process; the caller takes it away from this one."""

    def __init__(self, without: str | None = None) -> None:
        self._without = without
        self.scene = Scene()
        self._hands = Hands(self.scene.folder)
        self._hand: Hand | None = None
        self._paths: dict[str, list[str]] = {}
        self._worked_off: set[tuple[str, str, bool]] = set()

    def close(self) -> None:
        self.take_away(None)
        self._hands.close()
        self.scene.close()

    def take_away(self, without: str | None) -> None:
        """A safeguard, from those that come. What was known with it is forgotten."""
        if self._hand is not None:
            self._hand.close()
        self._hand, self._without = None, without
        self._paths.clear()
        self._worked_off.clear()

    def _other(self) -> Hand:
        if self._hand is None:
            self._hand = self._hands.new(self.scene.bare, self._without)
        return self._hand

    def know(self, first: str, second: str) -> None:
        """What one after the other leaves: before something is taken away."""
        for order in ([FIRST, SECOND], [SECOND, FIRST], [SECOND]):
            self.scene.past(*((side, {FIRST: first, SECOND: second}[side]) for side in order))

    # Where to hold

    def path(self, name: str) -> list[str]:
        """The boundaries that an operation passes."""
        if name not in self._paths:
            with self.scene.copied() as path:
                hand = self._open_other(OPERATIONS[name], path)
                hand.begin("act", name, None)
                self._paths[name] = hand.ask("passed")
                hand.ask("close")
        return self._paths[name]

    def holds(self, first: str, second: str) -> list[Hold]:
        places = enumerate(self.path(first))
        return [Hold(number, what, killed) for number, what in places for killed in (False, True)]

    def _open_other(self, one: Operation, path: Path) -> Hand:
        hand = self._other()
        hand.ask("open", path, self.scene.began, None if one.knows_nothing else self.scene.early)
        return hand

    def _open(self, two: Operation, path: Path) -> World:
        world = open_world(path, self.scene.began, SECOND)
        if two.knows_nothing:
            world.store.count_queues().wait()
        else:
            self.scene.warm(world)
        return world

    # One run

    def run(self, first: str, second: str, hold: Hold) -> Verdict:
        verdict = Verdict(first, second, hold)
        one, two = OPERATIONS[first], OPERATIONS[second]
        with errors_logged() as logged, self.scene.copied() as path:
            hand, world = self._open_other(one, path), self._open(two, path)
            eye = FileJudge(path, self.scene.stage)
            try:
                self._run(verdict, Case(one, two, set(), IDS, self.scene.before), hand, world, eye)
            finally:
                eye.close()
                world.store.close()
                if self._hand is not None:
                    self._hand.ask("close")
        verdict.problems += logged
        return verdict

    def _run(self, verdict: Verdict, case: Case, hand: Hand, world: World, eye: FileJudge) -> None:
        verdict.held = hand.begin("act", verdict.first, verdict.hold.number) == verdict.hold.what
        case.second = beside = Doing(lambda: case.two.act(world, self.scene.stage))
        verdict.waited = waits(beside, Path(world.store.address))
        case.between = None if verdict.blocked else eye.look()
        case.first = self._let_go(hand, verdict)
        if not beside.ended.wait(PATIENCE_SECONDS):
            raise TimeoutError(f"{verdict}: the second does not end")
        case.is_over = self._is_over(verdict)
        verdict.problems += judge(eye, case)
        stored = eye.stored()
        pasts = self._pasts(verdict)
        given = [said(case.second.answer, case.second.error)]
        if not verdict.hold.killed:
            given.insert(0, said(case.first.answer, case.first.error))
        verdict.problems += unlike(stored_past := Past(stored, mark(stored), tuple(given)), pasts)
        verdict.checked += RULES
        self._work_off(verdict, stored_past.mark, world, eye)

    def _let_go(self, hand: Hand, verdict: Verdict) -> Answer:
        if not verdict.held:
            return hand.ended()
        if verdict.hold.killed:
            hand.kill()
            self._hand = None
            return Answer(None, Killed())
        hand.go_on()
        return hand.ended()

    def _pasts(self, verdict: Verdict) -> list[Past]:
        """What may be there, with what was answered: of one that is killed all or nothing, and nobody hears of it."""
        scene, one, two = self.scene, (FIRST, verdict.first), (SECOND, verdict.second)
        both, swapped = scene.past(one, two), scene.past(two, one)
        number, is_over = verdict.hold.number, self._is_over(verdict)
        is_last = number >= max(self._places(verdict.first, BEGINNING), default=0)
        is_killed = verdict.hold.killed
        orders = [Past(both.stored, both.mark, both.answers[is_killed:])]
        if not is_over and not (is_last and verdict.waited == IN_KERNEL):  # Then the second comes after the first.
            swapped_answers = swapped.answers[: 1 if is_killed else 2][::-1]
            orders.append(Past(swapped.stored, swapped.mark, swapped_answers))
        if not is_killed or is_over:
            return orders
        ends = self._places(verdict.first, AFTER)
        return [scene.past(two)] if not ends or number < ends[0] else [scene.past(two), *orders]

    def _is_over(self, verdict: Verdict) -> bool:
        ends = self._places(verdict.first, AFTER)
        return bool(ends) and verdict.hold.number >= ends[-1]

    def _places(self, name: str, which: str) -> list[int]:
        return [number for number, what in enumerate(self.path(name)) if what == which]

    def _work_off(self, verdict: Verdict, stored: str, world: World, eye: FileJudge) -> None:
        """By the second, and then the first can use it too. What looks the same as before goes on the same."""
        looks = verdict.second, stored, verdict.hold.killed
        if looks in self._worked_off:
            return
        found = work_off(world, eye)
        hand = self._other()
        if verdict.hold.killed:
            hand.ask("open", Path(world.store.address), world.clock.now_us(), None, FOLLOWING)
        if not found and not hand.ask("use", world.clock.now_us()):
            found.append("afterwards: the first is not given what it has stored")
        verdict.problems += found
        verdict.checked += 1
        if not found:
            self._worked_off.add(looks)


def unlike(found: Past, pasts: list[Past]) -> list[str]:
    """What is stored and was answered is what one of these has."""
    alike = [past for past in pasts if past.mark == found.mark]
    if not alike:
        return [f"stored as no order of the two leaves it: {difference(found.stored, pasts[0].stored)}"]
    if all(past.answers != found.answers for past in alike):
        return [f"answered as in no order of the two: {found.answers} instead of {alike[0].answers}"[:1000]]
    return []


def waits(doing: Doing, store: Path) -> str:
    """How it waits for a lock on a file of the store; not at all when it has ended instead."""
    began, pause = time.monotonic(), LOOK_SECONDS
    while not doing.ended.wait(pause):
        if is_waited_for(store):
            return IN_KERNEL
        if time.monotonic() - began > POLLING_SECONDS:
            return BY_POLLING
        pause = min(2 * pause, LOOK_SECONDS_MAX)
    return ""


def is_waited_for(store: Path) -> bool:
    """The kernel lists who waits for a lock of whom, by the number of the file."""
    if not LOCKS.exists():
        return False
    files = tuple(f":{entry.inode()}" for entry in os.scandir(store.parent))
    waiting = [line.split() for line in LOCKS.read_text().splitlines() if "->" in line]
    return any(word.endswith(files) for line in waiting for word in line)
