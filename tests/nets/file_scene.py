"""The stage in a file, which is copied for each run; and what operations leave in it, one after another."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from penstock.domain.errors import PenstockError
from penstock.store.sqlite.store import SqliteStore
from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.nets.file_judge import FileJudge, Stored, mark
from tests.nets.operations import OPERATIONS
from tests.nets.seen import Seen
from tests.nets.stage import Stage

MEMORY = Path("/dev/shm")
"""Where a sync costs nothing."""
SETTING, FIRST, SECOND, FOLLOWING = range(4)
"""Who has made an id."""
IDS_MAX = 1000


FOLDER = "PENSTOCK_NET_FOLDER"


@contextmanager
def shared_folder() -> Iterator[None]:
    """What processes that are started meanwhile put down goes at the end, however they ended."""
    with tempfile.TemporaryDirectory(prefix="nets-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER]


class Ids:
    """Ids that are the same in each run."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._numbers = count(1)

    def next_id(self) -> str:
        return _id(self._side, next(self._numbers))


def _id(side: int, number: int) -> str:
    return f"0198c0de-{side:04x}-7000-8000-{number:012x}"


IDS = {_id(side, number) for side in (SETTING, FIRST, SECOND) for number in range(1, IDS_MAX)}


def open_world(path: Path, now: int, side: int, vfs: str | None = None) -> World:
    """A store of its own, with a clock of its own."""
    clock = FakeClock(now)
    world = World(SqliteStore(str(path), clock=clock, random=lambda: 0.5, vfs=vfs), clock)
    world._ids = Ids(side)  # type: ignore[assignment]
    return world


@dataclass
class Past:
    """What operations have left that were done one after another, each by a process that knew nothing before."""

    stored: Stored
    mark: str
    answers: tuple[str, ...]


class Scene:
    """A folder with the stage in it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="net-", dir=os.environ.get(FOLDER, MEMORY if MEMORY.is_dir() else None)
        )
        self.folder = Path(self._folder.name)
        self._numbers = count()
        self._pasts: dict[tuple[tuple[int, str], ...], Past] = {}
        self._kept = self.folder / "stage.db"
        world = open_world(self._kept, FakeClock().now_us(), SETTING)
        self.early = world.clock.now_us()
        self.stage = Stage(world)
        self.stage.make()
        self.began = world.clock.now_us()
        world.store.close()

    def close(self) -> None:
        self._folder.cleanup()

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """A copy in a folder of its own."""
        folder = self.folder / f"run{next(self._numbers)}"
        folder.mkdir()
        try:
            yield Path(shutil.copy(self._kept, folder / "jobs.db"))
        finally:
            shutil.rmtree(folder)

    def read(self) -> bytes:
        return self._kept.read_bytes()

    @cached_property
    def bare(self) -> Stage:
        """What operations have to know of it, for another process."""
        return bare(self.stage)

    @cached_property
    def before(self) -> Seen:
        judge = FileJudge(self._kept, self.stage)
        try:
            return judge.look()
        finally:
            judge.close()

    def warm(self, world: World) -> None:
        """It has used the store before, when there was nothing to do: it knows the lanes and what is paused."""
        clock: Any = world.clock
        clock._now_us = self.early
        world.claim(self.stage.two, 0)
        clock._now_us = self.began

    def past(self, *done: tuple[int, str]) -> Past:
        """After these, (side, operation), in this order."""
        if done not in self._pasts:
            self._pasts[done] = self._live_through(done)
        return self._pasts[done]

    def _live_through(self, done: tuple[tuple[int, str], ...]) -> Past:
        with self.copied() as path:
            answers = []
            for side, name in done:
                world = open_world(path, self.began, side)
                try:
                    answers.append(told(lambda: OPERATIONS[name].act(world, self.stage)))  # noqa: B023
                finally:
                    world.store.close()
            judge = FileJudge(path, self.stage)
            try:
                stored = judge.stored()
            finally:
                judge.close()
            return Past(stored, mark(stored), tuple(answers))


def told(work: Any) -> str:
    try:
        return said(work(), None)
    except PenstockError as error:
        return said(None, error)


def said(answer: Any, error: BaseException | None) -> str:
    """An answer, to compare."""
    return repr(answer) if error is None else type(error).__name__


def bare(stage: Stage) -> Stage:
    flows = {name: copy.copy(flow) for name, flow in stage.flows.items()}
    for flow in flows.values():
        flow.world = None  # type: ignore[assignment]
    return replace(stage, world=None, flows=flows)  # type: ignore[arg-type]
