"""Power is cut at each write of an operation, and whatever the disk has then: the file is sound, what was answered is
there, what was not is there whole or not at all, and the store goes on.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from pathlib import Path

from penstock.domain.errors import PenstockError
from tests.nets.afterwards import work_off
from tests.nets.cutting import WAYS, Disk, Event, Recorder, Way, write_files
from tests.nets.file_judge import RULES, FileJudge, Stored, difference, mark
from tests.nets.file_scene import FIRST, SECOND, Scene, open_world, told
from tests.nets.logged import errors_logged
from tests.nets.operations import OPERATIONS

NOT_SYNCED = {
    "claim", "claim, knowing the lanes", "claim one", "claim of a stale worker", "start", "start one", "progress",
    "heartbeat", "leave", "take the lead", "resign", "mark a worker", "tend gates",
}  # fmt: skip
"""Claims, starts, progress, heartbeats and the duties that are done again anyway: a cut may undo them."""
BEFORE = "heartbeat"
"""Is done first, and not synced: what is promised after it must not rest on it."""
BEGUN, ANSWERED = "begun", "answered"


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
    """All that was done to the disk, what is stored before anything, after the first and after all, and the index of
    the log, which is no part of it: it may be there or not.
    """

    events: list[Event]
    states: list[Stored]
    index: bytes
    marks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.marks = [mark(state) for state in self.states]


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
        recorder, states = self._recorder, [self._before]
        recorder.events.clear()
        with self.scene.copied() as path:
            world = open_world(path, self.scene.began, FIRST, recorder.name)
            eye = None
            try:
                for one in (BEFORE, name):
                    recorder.say(f"{BEGUN} {one}")
                    told(lambda: OPERATIONS[one].act(world, self.scene.stage))  # noqa: B023
                    recorder.say(f"{ANSWERED} {one}")
                    eye = eye or FileJudge(path, self.scene.stage)
                    states.append(eye.stored())
            finally:
                if eye is not None:
                    eye.close()
                index = path.with_name("jobs.db-shm").read_bytes()
                world.store.close()
            record = Record(list(recorder.events), states, index)
            assert self._replay(record.events).cut("all", random.Random()) == {"jobs.db": path.read_bytes()}
        return record

    def _replay(self, events: list[Event]) -> Disk:
        disk = Disk({"jobs.db": self.scene.read()})
        for event in events:
            disk.do(event)
        return disk

    def cuts(self, name: str) -> list[Cut]:
        events = self.record(name).events
        return [Cut(number, str(event), way) for number, event in enumerate(events) for way in WAYS]

    # One cut

    def run(self, name: str, cut: Cut, seed: int = 0) -> Verdict:
        verdict = Verdict(name, cut)
        record = self.record(name)
        done = record.events[: cut.number + 1]
        chance = random.Random(f"{seed} {name} {cut.number} {cut.way}")
        files = self._replay(done).cut(cut.way, chance)
        if chance.random() < 0.5:
            files["jobs.db-shm"] = record.index
        answered = any(event == Event("said", f"{ANSWERED} {name}") for event in done)
        looks = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest() + str(answered)
        if looks in self._met.setdefault(name, set()):
            return verdict
        with errors_logged() as logged, self.scene.copied() as path:
            write_files(path.parent, files)
            self._judge(verdict, path, self._allowed(record, name, answered))
        verdict.problems += logged
        if not verdict.problems:
            self._met[name].add(looks)
        return verdict

    def _allowed(self, record: Record, name: str, answered: bool) -> list[int]:
        """Which of its states may be found. Of what is promised and has changed something, only the last."""
        if answered and name not in NOT_SYNCED and record.marks[-1] != record.marks[-2]:
            return [len(record.states) - 1]
        return list(range(len(record.states)))

    def _judge(self, verdict: Verdict, path: Path, allowed: list[int]) -> None:
        record = self.record(verdict.operation)
        eye = FileJudge(path, self.scene.stage)
        verdict.checked = RULES
        try:
            verdict.problems += eye.integrity() + eye.limits(self.scene.began)
            stored = eye.stored()
            found = mark(stored)
            if found not in [record.marks[number] for number in allowed]:
                what = "what was answered is gone" if len(allowed) == 1 else "half of it is there"
                verdict.problems.append(f"{what}: {difference(stored, record.states[allowed[-1]])}")
            self._go_on(verdict, path, found, eye)
        finally:
            eye.close()

    def _go_on(self, verdict: Verdict, path: Path, found: str, eye: FileJudge) -> None:
        """What is found for the first time is worked off; otherwise a job can be stored."""
        world = open_world(path, self.scene.began, SECOND)
        try:
            if found not in self._worked_off and not verdict.problems:
                verdict.problems += work_off(world, eye)
                self._worked_off.add(found)
            elif world.find(world.add()) is None:
                verdict.problems.append("afterwards: what is stored is not there")
        except PenstockError as error:
            verdict.problems.append(f"afterwards: {type(error).__name__}: {error}")
        finally:
            world.store.close()
