"""A SQLite file that is copied while everybody works in it, and one that is put in the place of another."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from penstock.engines import open_store
from penstock.store.contract import CheckStore, ListJobs
from tests.chaos.actors import Actor, Broken, until
from tests.chaos.catalogue import fault
from tests.chaos.faults.restores import parcels_end, shell
from tests.chaos.load import standard_load
from tests.chaos.places import SqlitePlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.chaos.taken_back import RULES_IF_SENT_AGAIN, Gap
from tests.chaos.truth import ALL
from tests.checker.events import read_folder
from tests.checker.history import History

SUFFIXES = ("", "-wal", "-shm")
GONE = "StoreGone"


def on_sqlite(stage: Stage) -> SqlitePlace:
    assert isinstance(stage.place, SqlitePlace)
    return stage.place


@fault(row=27, engines=("sqlite",), rare=True)
def file_copied(stage: Stage) -> None:
    """The file is copied under load by each means there is: every copy is whole, and nobody is disturbed."""
    source = on_sqlite(stage).path
    ways: list[Callable[[Path], None]] = [
        lambda target: shell(source, f"VACUUM INTO '{target}'"),
        lambda target: shell(source, f".backup {target}"),
        lambda target: _copy_while_all_stand_still(stage, source, target),
        lambda target: _copy_files(source, target),
    ]
    stage.begin()
    for number in range(stage.size.rounds):
        for way in ways:
            target = stage.folder / f"copy-{number}-{ways.index(way)}.db"
            stage.wait(stage.dice.uniform(0.0, 0.2))
            begun = stage.log.now_us()
            way(target)
            if way is not ways[-1]:  # While others write, cp mixes two moments: of that copy nothing is promised.
                _check_copy(stage, target, begun)
    settle(stage)


def _copy_files(source: Path, target: Path) -> None:
    for suffix in SUFFIXES[:2]:
        shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")


def _copy_while_all_stand_still(stage: Stage, source: Path, target: Path) -> None:
    """As a snapshot of the disk: of one moment, wherever in a transaction that is."""
    with ExitStack() as frozen:
        for actor in _living(stage):
            stage.pause(actor, anywhere=True)
            frozen.callback(stage.resume, actor)
        _copy_files(source, target)


def _living(stage: Stage) -> list[Actor]:
    return [one for one in (*stage.workers.values(), *stage.clients.values()) if one.lives]


def _check_copy(stage: Stage, copy: Path, before: int) -> None:
    """It is a sound store, and holds all that was acknowledged before it was begun."""
    store = open_store(f"sqlite:///{copy}")
    try:
        wrong = [one for one in store.check_store(CheckStore(deep=True)).wait() if one.level == "error"]
        held = {job.id for job in store.list_jobs(ListJobs(limit=ALL)).wait()}
    finally:
        store.close()
    if wrong:
        raise Broken(f"the copy {copy.name} is not sound: {wrong[0].name}: {wrong[0].message}")
    for enqueue in History(read_folder(stage.folder)).of("enqueue"):
        if enqueue.ok and enqueue.ended < before and not held.issuperset(enqueue.told.ids):
            raise Broken(f"the copy {copy.name} lacks one of {enqueue.told.ids}, acknowledged before it was begun")


@fault(row=24, engines=("sqlite",), rare=True)
def file_replaced(stage: Stage) -> None:
    """A backup is put in the place of the file, as nobody should: all say so and write no more; a restart goes on."""
    path = on_sqlite(stage).path
    backup = stage.folder / "backup.db"
    plans = standard_load(stage.dice, stage.size.jobs)
    middle = parcels_end(plans, len(plans) // 2)
    stage.begin(plans[:middle])
    stage.wait(stage.size.seconds / 4)
    copy_begun = stage.log.now_us()
    shell(path, f".backup {backup}")
    copy_ended = stage.log.now_us()
    stage.wait(stage.size.seconds / 4)
    return_begun = stage.log.now_us()
    for suffix in SUFFIXES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(backup, path)
    _await_ends(stage)
    if path.read_bytes() != backup.read_bytes():
        raise Broken("somebody who was told that the store is gone has written into what is there now")
    stage.reopen()
    gap = Gap(copy_begun, copy_ended, return_begun, stage.log.now_us())
    for actor in [*stage.workers.values(), *stage.clients.values()]:
        stage.again(actor)
    stage.enqueue(plans[middle:])
    settle(stage, gap=gap, rules=RULES_IF_SENT_AGAIN)


def _await_ends(stage: Stage) -> None:
    """Workers end by themselves. Clients try again for ever, as they were told to, and are ended."""
    for worker in stage.workers.values():
        worker.ending = True
        if worker.wait() != 1 or not worker.said(GONE):
            raise Broken(f"{worker.name} ended with {worker.code} when the file was replaced")
        stage.log.killed(worker.name)
    for client in stage.clients.values():
        if client.lives:
            until(lambda: client.said(GONE) or not client.lives, f"{client.name} is told")  # noqa: B023
            stage.kill(client)
