"""Two operations on one store, the first held in its midst while the second runs, as PostgreSQL's own isolation tests
do: the second runs to its end, or until it waits for a lock; then the first goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from typing import Any

from penstock.engines import open_store
from penstock.store import contract as p
from penstock.store.postgres.admin.grants import grants_sql
from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.nets.afterwards import work_off
from tests.nets.holding import FIRST, LOCKS, PATIENCE_SECONDS, SECOND, Doing, Hold, Keeper, Path
from tests.nets.invariants import RULES, Case, ServerJudge, judge, waits_long
from tests.nets.logged import errors_logged
from tests.nets.operations import OPERATIONS, Operation
from tests.nets.seen import Seen
from tests.nets.stage import Stage
from tests.postgres.binaries import Version
from tests.postgres.server import Server

SETTINGS = {"deadlock_timeout": "20ms", "autovacuum_naptime": "5s"}
LANES_MAX = 300
"""They are only ever added, and whoever claims goes through all."""
DEADLOCK = b"ERROR:  deadlock detected"
NO_SSL = {"sslmode": "disable", "gssencmode": "disable", "notify": "off"}


@dataclass
class Verdict:
    """What became of an interleaving. `held` is False when the first never came to where it was to be held. `deadlocks`
    are those that the server ended: what one of the two had done was undone, and done again; nothing is wrong
    afterwards, but both have waited, and each such pair is one that takes its locks in another order.
    """

    first: str
    second: str
    hold: Hold
    held: bool = False
    blocked: bool = False
    checked: int = 0
    deadlocks: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        waits = ", which waited" if self.blocked else ""
        return f"{self.first!r} held at {self.hold}, × {self.second!r}{waits}"


class Net:
    """A server, a store with the stage in it, and two who act on it through connections of their own."""

    def __init__(self, version: Version = 18) -> None:
        self._version = version
        self._paths: dict[str, Path] = {}
        self._begin()

    def _begin(self) -> None:
        self.server = Server(self._version, settings=SETTINGS)
        self.clock = FakeClock()
        self.ids: set[str] = set()
        self._stored: Seen | None = None
        self._worked_off: set[str] = set()
        self._log_read = 0
        try:
            self._open()
        except BaseException:
            self.server.close()
            raise

    def _open(self) -> None:
        self.keeper = Keeper(self.server)
        self.third = self._world(self.server.url(application_name="third", **NO_SSL))
        self.stage = Stage(self.third)
        self.stage.make()
        self.began = self.clock.now_us()
        self._run((files("tests.nets") / "places.sql").read_text().replace("{schema}", "penstock"))
        self._run(grants_sql("penstock", FIRST))
        self.known = set(self.ids)
        self._run("SELECT net.keep()")
        through = self.server.url(user=FIRST, application_name=FIRST, **NO_SSL)
        self.first = self._world(through.replace(f":{self.server.port}/", f":{self.keeper.wire.port}/"))
        self.second = self._world(self.server.url(application_name=SECOND, **NO_SSL))
        self.judge = ServerJudge(self.server, self.stage)

    def _world(self, address: str) -> World:
        world = World(open_store(address, clock=self.clock, random=lambda: 0.5), self.clock)
        world._ids = Noted(world._ids, self.ids)  # type: ignore[assignment]
        return world

    def _run(self, text: str) -> None:
        self.connection.execute(text.encode())

    @cached_property
    def connection(self) -> Any:
        return self.server.connect()

    def close(self) -> None:
        for world in (self.first, self.second, self.third):
            world.store.close()
        self.keeper.close()
        self.judge.close()
        self.connection.close()
        self.server.close()
        del self.connection

    def renew(self) -> None:
        """Another server and store, if this one is worn: what is known of the operations is so there too."""
        [(lanes,)] = self.connection.execute("SELECT count(*) FROM penstock.lane").fetchall()
        if lanes > LANES_MAX:
            self.close()
            self._begin()

    # Where to hold

    def restore(self, anew: bool = False) -> None:
        """Everything is as it was; `anew`: and nobody who claims knows anything of it."""
        self.clock._now_us = self.began
        self._run(f"SELECT net.restore({anew})")
        self.ids.clear()

    def holds(self, first: str, second: str) -> list[Hold]:
        self.renew()
        return self.path(first).holds(self.path(second))

    def path(self, name: str) -> Path:
        if name not in self._paths:
            self._paths[name] = self._find_path(OPERATIONS[name])
        return self._paths[name]

    def _find_path(self, one: Operation) -> Path:
        """Run once before, so that its connections are there."""
        for _ in range(2):
            self._prepare(one)
            passed = self.keeper.record(lambda: one.act(self.first, self.stage))
        tables = Path(tuple(passed)).touched
        return Path(tuple(passed), tuple(self._rows_to_hold(one, sorted(tables))))

    def _rows_to_hold(self, one: Operation, tables: list[str]) -> Iterator[Hold]:
        """Those that it waits for."""
        for table in tables:
            for lock in LOCKS:
                hold = Hold("rows", 0, f"{table} {lock}")
                self._prepare(one)
                with self._holding(one, hold) as (_, held):
                    pass
                if held:
                    yield hold

    def _prepare(self, *ones: Operation) -> None:
        """What one has to know is learnt before all is put back: looking may change something."""
        for one, world in zip(ones, (self.first, self.second), strict=False):
            if one.prepare is not None:
                self.restore()
                one.prepare(world, self.stage)
        self.restore(any(one.knows_nothing for one in ones))

    @contextmanager
    def _holding(self, one: Operation, hold: Hold) -> Iterator[tuple[Doing, bool]]:
        """The operation under way, and whether it is held. It is over after the block."""
        self.keeper.hold(hold)
        try:
            doing = Doing(lambda: one.act(self.first, self.stage))
            yield doing, self.keeper.wait_held(doing)
        finally:
            self.keeper.release()
        self._wait(doing)

    def _wait(self, doing: Doing) -> None:
        if not doing.ended.wait(PATIENCE_SECONDS):
            raise TimeoutError(f"it does not end: {self.keeper.told()}")

    # One interleaving

    def run(self, first: str, second: str, hold: Hold) -> Verdict:
        verdict = Verdict(first, second, hold)
        one, two = OPERATIONS[first], OPERATIONS[second]
        self._prepare(one, two)
        self._deadlocks()
        case = Case(one, two, self.known, self.ids, before=self._before())
        with errors_logged() as logged:
            with self._holding(one, hold) as (case.first, verdict.held):
                if verdict.held:
                    case.second = beside = Doing(lambda: two.act(self.second, self.stage))
                    verdict.blocked = self.keeper.wait_blocked(beside)
                    case.between = None if verdict.blocked else self.judge.look()
            if verdict.held:
                self._wait(beside)
                if hold.kind == "rows" and hold.table == "parked":  # As one that was about to end them, and did not.
                    self.third.store.tend_gates(p.TendGates()).wait()
                verdict.checked = RULES - 1
                verdict.problems = judge(self.judge, case) + waits_long(case, verdict.blocked)
                self._work_off(verdict)
        verdict.problems += logged
        verdict.deadlocks = self._deadlocks()
        if verdict.deadlocks:
            verdict.problems.append("a deadlock: one of the two was undone by the server, and had to be done again")
        return verdict

    def _deadlocks(self) -> int:
        """Since the last look, as the server has written down: who was undone has done it again, and says nothing."""
        with self.server.log_path.open("rb") as log:
            log.seek(self._log_read)
            new = log.read()
        self._log_read += len(new)
        return new.count(DEADLOCK)

    def _before(self) -> Seen:
        """What there is on the stage: always the same, but for the tokens that were given out."""
        if self._stored is None:
            self._stored = self.judge.look()
        return replace(self._stored, token=self.judge.token())

    def _work_off(self, verdict: Verdict) -> None:
        """By who has claimed, which must find what others have put there. What looks the same as before, but for new
        ids and numbers, goes on the same.
        """
        claimed = [OPERATIONS[name].claims for name in (verdict.second, verdict.first)]
        who = next((who for who, claims in zip((SECOND, FIRST), claimed, strict=True) if claims), "third")
        looks = who + self.judge.fingerprint(self.known)
        if looks in self._worked_off:
            return
        verdict.checked += 1
        found = work_off({FIRST: self.first, SECOND: self.second}.get(who, self.third), self.judge)
        verdict.problems += found
        if not found:
            self._worked_off.add(looks)


class Noted:
    """Ids, all of which are known afterwards."""

    def __init__(self, source: Any, known: set[str]) -> None:
        self._source, self._known = source, known

    def next_id(self) -> str:
        made: str = self._source.next_id()
        self._known.add(made)
        return made
