"""A disk that is full for a while."""

from __future__ import annotations

from dataclasses import replace

from tests.chaos.actors import Broken, until
from tests.chaos.catalogue import fault
from tests.chaos.faults.server import move_to
from tests.chaos.places import PostgresPlace, SqlitePlace, prepare
from tests.chaos.settle import settle
from tests.chaos.small_disk import SmallDisk
from tests.chaos.stage import Stage
from tests.postgres.server import Server

FULL = "StoreFull"


@fault(row=15, engines=("sqlite",))
def disk_full(stage: Stage) -> None:
    """Nothing can be written for a while: the processes say so, keep what they have, and go on when there is room."""
    full = stage.folder / "full"

    def harm() -> None:
        full.touch()
        stage.wait(stage.dice.uniform(0.1, 0.5))
        full.unlink()

    stage.healing.append(lambda: full.unlink(missing_ok=True))
    stage.begin(full=str(full))
    stage.while_loading(0.2, 0.6, harm)
    settle(stage)
    if not any(actor.said("free space") for actor in stage.actors if actor.kind == "worker"):
        raise Broken("no worker said that the disk was full")


@fault(row=15, rare=True)
def disk_fills_and_empties(stage: Stage) -> None:
    """A real disk is filled to its last byte until it is noticed, and emptied: all wait, say so, and go on."""
    disk = _on_small_disk(stage)
    stage.bounds = replace(stage.bounds, pickup_us=None)  # Nothing can be claimed.
    stage.healing.append(disk.empty)
    stage.begin()
    for _ in range(max(2, stage.size.rounds // 2)):
        stage.wait(stage.dice.uniform(0.1, 0.3))
        heard = _told(stage)
        disk.fill()
        until(lambda: _told(stage) > heard, "somebody is told that the disk is full")  # noqa: B023
        _start_one_again(stage)
        stage.wait(stage.dice.uniform(0.0, 1.5) * stage.size.lease)
        disk.empty()
    settle(stage)


def _start_one_again(stage: Stage) -> None:
    """While nothing can be written: it ends, and its supervisor tries again."""
    victim = stage.victim()
    if victim is not None:
        stage.kill(victim)
        stage.again(victim)


def _told(stage: Stage) -> int:
    """How often the disk was said to be full, to workers and clients."""
    return sum(path.read_text().count(FULL) for path in stage.folder.glob("*.jsonl"))


def _on_small_disk(stage: Stage) -> SmallDisk:
    """The file moves to it; or the tables of a server of this run alone, whose log stays where there is room."""
    place = stage.place
    if isinstance(place, PostgresPlace):
        server = stage.enter(Server(place.server.version))
        disk = stage.enter(SmallDisk())
        disk.give(server.folder.user, server.folder.group)
        server.execute(f"CREATE TABLESPACE small LOCATION '{disk.path}'")
        server.execute("ALTER DATABASE postgres SET default_tablespace = small")
        move_to(stage, server)
    else:
        assert isinstance(place, SqlitePlace)
        disk = stage.enter(SmallDisk())
        place.path = disk.path / "jobs.db"
        stage.store.close()
        stage.look_at(prepare(place))
    return disk
