"""Power is cut at each write of an operation, and whatever the disk has then: the file is sound, what was answered is
there, what was not is there whole or not at all, and the store goes on.
"""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import apsw

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import PenstockError
from tests.nets.afterwards import work_off
from tests.nets.cutting import WAYS, Disk, Event, Recorder, Way, write_files
from tests.nets.file_judge import RULES, FileJudge, Stored, difference, mark
from tests.nets.file_scene import FIRST, SECOND, Scene, open_world, told
from tests.nets.logged import errors_logged
from tests.nets.operations import OPERATIONS

NOT_SYNCED = {
    "claim", "claim, knowing the lanes", "claim one", "claim in turns", "claim of a stale worker", "start", "start one",
    "progress", "heartbeat", "heartbeat with figures", "leave", "take the lead", "resign", "mark a worker",
    "tend gates",
}  # fmt: skip
"""Claims, starts, progress, heartbeats and the duties that are done again anyway: a cut may undo them."""
BEFORE = "heartbeat"
"""Is done first, and not synced: what is promised after it must not rest on it."""
BEGUN, ANSWERED = "begun", "answered"
MAKE = "make the store"
"""Where there was no file: its first job is stored."""
ALL = (MAKE, *OPERATIONS)
OFF_SECONDS = 10
"""The machine is off for a while."""


@dataclass(frozen=True)
class Cut:
    """After which event, and what is there of what was not synced."""

    number: int
    what: str
    way: Way

    def __str__(self) -> str:
        return f"cut after {self.what}, {self.way} of what was not synced is there"


@dataclass
class Verdict:
    operation: str
    cut: Cut
    checked: int = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.operation!r}, {self.cut}"


@dataclass
class Record:
    """All that was done to the disk that had these files, what is stored before anything, after the first and after
    all, and the index of the log, which is no part of it: it may be there or not.
    """

    files: dict[str, bytes]
    events: list[Event]
    states: list[Stored]
    index: bytes

    @cached_property
    def marks(self) -> list[str]:
        return [mark(state) for state in self.states]

    @cached_property
    def token(self) -> int:
        """The last that was given out."""
        return max((seq for name, seq in self.states[-1]["sqlite_sequence"] if name == "penstock_lease"), default=0)

    def replay(self, count: int | None = None) -> Disk:
        """The disk after so many events."""
        disk = Disk(self.files)
        for event in self.events[:count]:
            disk.do(event)
        return disk


class PowerNet:
    def __init__(self) -> None:
        self.scene = Scene()
        self._recorder = Recorder()
        self._records: dict[str, Record] = {}
        self._met: dict[str, set[str]] = {}
        self._worked_off: set[str] = set()
        self._before = self.scene.past().stored

    def close(self) -> None:
        self._recorder.unregister()
        self.scene.close()

    def forget(self) -> None:
        """What operations do to the disk."""
        self._records.clear()
        self._met.clear()

    # What an operation does to the disk

    def record(self, name: str) -> Record:
        if name not in self._records:
            self._records[name] = self._record(name)
        return self._records[name]

    def _record(self, name: str) -> Record:
        with self.scene.copied() as path:
            files = {path.name: path.read_bytes()}
            if name == MAKE:
                path.unlink()
            recorder, states = self._recorder, [] if name == MAKE else [self._before]
            recorder.events.clear()
            world = open_world(path, self.scene.began, FIRST, recorder.name)
            try:
                for one in (MAKE,) if name == MAKE else (BEFORE, name):
                    recorder.say(f"{BEGUN} {one}")
                    told(lambda: world.add() if one == MAKE else OPERATIONS[one].act(world, self.scene.stage))  # noqa: B023
                    recorder.say(f"{ANSWERED} {one}")
                    states.append(self._stored(path))
                index = path.with_name("jobs.db-shm").read_bytes()
            finally:
                world.store.close()
            record = Record({} if name == MAKE else files, list(recorder.events), states, index)
            assert record.replay().cut("all", random.Random()) == {path.name: path.read_bytes()}
        return record

    def _stored(self, path: Path) -> Stored:
        with closing(FileJudge(path, self.scene.stage)) as eye:
            return eye.stored()

    def cuts(self, name: str) -> list[Cut]:
        events = self.record(name).events
        return [Cut(number, str(event), way) for number, event in enumerate(events) for way in WAYS]

    # One cut

    def run(self, name: str, cut: Cut, seed: int = 0) -> Verdict:
        verdict = Verdict(name, cut)
        record = self.record(name)
        chance = random.Random(f"{seed} {name} {cut.number} {cut.way}")
        files = record.replay(cut.number + 1).cut(cut.way, chance)
        if chance.random() < 0.5 and files:
            files["jobs.db-shm"] = record.index
        answered = Event("said", f"{ANSWERED} {name}") in record.events[: cut.number + 1]
        looks = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest() + str(answered)
        if looks in self._met.setdefault(name, set()):
            return verdict
        with errors_logged() as logged, self.scene.copied() as path:
            path.unlink()
            write_files(path.parent, files)
            try:
                verdict.problems += self._find(path, record, self._allowed(record, name, answered))
            except (apsw.Error, PenstockError) as error:
                verdict.problems.append(f"{type(error).__name__}: {error}")
        verdict.checked = RULES
        verdict.problems += logged
        if not verdict.problems:
            self._met[name].add(looks)
        return verdict

    def _allowed(self, record: Record, name: str, answered: bool) -> list[int]:
        """Which of its states may be found. Of what is promised and has changed something, only the last. One that is
        just being made may be in any, and is made by who opens it next.
        """
        if name == MAKE:
            return [0] if answered else []
        if answered and name not in NOT_SYNCED and record.marks[-1] != record.marks[-2]:
            return [len(record.states) - 1]
        return list(range(len(record.states)))

    def _find(self, path: Path, record: Record, allowed: list[int]) -> list[str]:
        if not allowed:
            with closing(open_world(path, self.scene.began, SECOND).store) as store:
                store.migrate()
        with closing(FileJudge(path, self.scene.stage)) as eye:
            found = eye.integrity() + eye.limits(self.scene.began)
            stored = eye.stored()
            if allowed and mark(stored) not in [record.marks[number] for number in allowed]:
                what = "what was answered is gone" if len(allowed) == 1 else "half of it is there"
                found.append(f"{what}: {difference(stored, record.states[allowed[-1]])}")
            return found or self._go_on(path, record, mark(stored), eye)

    def _go_on(self, path: Path, record: Record, stored: str, eye: FileJudge) -> list[str]:
        """A job can be stored, and no token is given out again. What is found for the first time is worked off."""
        world = open_world(path, self.scene.began + OFF_SECONDS * MICROSECONDS, SECOND)
        with closing(world.store):
            session = world.register("after", stale_after=1e9)
            if world.find(world.add(priority=100)) is None:
                return ["afterwards: what is stored is not there"]
            claims = world.claim(session, 1)
            if any(claim.token <= record.token for claim in claims):
                return ["afterwards: a token is given out again"]
            if world.complete(*claims):
                return ["afterwards: what is given out is lost"]
            if stored in self._worked_off or not record.files:
                return []
            self._worked_off.add(stored)
            return work_off(world, eye)
