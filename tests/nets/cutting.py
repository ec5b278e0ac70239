"""A disk whose power can be cut: keeps every write, and makes the files as they could be afterwards.

What was synced is there. Of what was written to a file since, anything may be: nothing, all, some, and a part of one.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import apsw

_numbers = itertools.count()

Way = Literal["nothing", "all", "some at first", "some"]
WAYS: tuple[Way, ...] = ("nothing", "all", "some at first", "some")
"""What is there of what was not synced. Of the latter two the last one is torn."""


class Event(NamedTuple):
    """`kind` is write, truncate, sync, delete or said; `file` the name, or what was said. `offset` is the size that is
    left, or whether the folder is synced with the deletion.
    """

    kind: str
    file: str
    offset: int = 0
    data: bytes = b""

    def __str__(self) -> str:
        return f"{self.kind} {self.file}" + (f" at {self.offset}" if self.kind == "write" else "")


class Recorder(apsw.VFS):
    """The real file system, with all that is done to it. Pass `name` as vfs= to a store."""

    def __init__(self) -> None:
        self.name = f"recorder{next(_numbers)}"
        self.events: list[Event] = []
        self.syncs = True
        super().__init__(self.name, "")

    def say(self, what: str) -> None:
        self.events.append(Event("said", what))

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.events.append(Event("delete", os.path.basename(filename), syncdir))
        super().xDelete(filename, syncdir)


class RecordedFile(apsw.VFSFile):
    def __init__(self, recorder: Recorder, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._events = recorder.events
        self._name = os.path.basename(name.filename() if isinstance(name, apsw.URIFilename) else name or "")
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._events.append(Event("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._events.append(Event("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._events.append(Event("sync", self._name))


@dataclass
class _File:
    """What is safe of it, and what was done to it since."""

    safe: bytes | None
    since: list[Event]


class Disk:
    """As the files are at some event, with what of them is safe."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = {name: _File(data, []) for name, data in files.items()}

    def do(self, event: Event) -> None:
        if event.kind == "said":
            return
        file = self._files.setdefault(event.file, _File(None, []))
        if event.kind == "sync":
            if file.safe is None and event.file.endswith(("-wal", "-journal")):
                self._sync_folder()
            file.safe, file.since = _apply(file.safe, file.since), []
        elif event.kind == "delete" and event.offset:
            file.safe, file.since = None, []
        else:
            file.since.append(event)

    def _sync_folder(self) -> None:
        """As SQLite does with the first sync of a new log or journal: what was deleted before does not come back."""
        for file in self._files.values():
            if any(event.kind == "delete" for event in file.since):
                file.safe, file.since = None, []

    def cut(self, way: Way, chance: random.Random) -> dict[str, bytes]:
        """The files that are found afterwards."""
        found = {name: _apply(file.safe, list(_left(file.since, way, chance))) for name, file in self._files.items()}
        return {name: data for name, data in found.items() if data is not None}


def _left(since: list[Event], way: Way, chance: random.Random) -> Iterator[Event]:
    if way == "nothing" or not since:
        return
    if way == "all":
        yield from since
        return
    count = chance.randrange(len(since) + 1)
    chosen = range(count) if way == "some at first" else sorted(chance.sample(range(len(since)), count))
    torn = chance.choice(chosen) if way == "some" and chosen else (chosen[-1] if chosen else None)
    for number in chosen:
        event = since[number]
        tears = number == torn and event.kind == "write" and len(event.data) > 1
        yield event._replace(data=event.data[: chance.randrange(1, len(event.data))]) if tears else event


def _apply(data: bytes | None, events: Iterable[Event]) -> bytes | None:
    """None: there is no such file."""
    content = None if data is None else bytearray(data)
    for event in events:
        if event.kind == "delete":
            content = None
            continue
        content = bytearray() if content is None else content
        size = event.offset if event.kind == "truncate" else event.offset + len(event.data)
        content.extend(bytes(max(0, size - len(content))))
        if event.kind == "truncate":
            del content[size:]
        else:
            content[event.offset : size] = event.data
    return None if content is None else bytes(content)


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)
