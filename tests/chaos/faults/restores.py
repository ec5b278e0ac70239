"""Backups that are made under load, and restored under those who go on working, or somewhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.chaos.actors import Broken, until
from tests.chaos.catalogue import fault
from tests.chaos.faults.server import on_postgres
from tests.chaos.load import Plan, standard_load
from tests.chaos.places import PostgresPlace, SqlitePlace
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.chaos.taken_back import RULES, RULES_IF_SENT_AGAIN, Gap
from tests.postgres.binaries import programs

TOOL_SECONDS = 60
DEADLOCK = "deadlock detected"


@fault(row=24, rare=True)
def restored_in_place(stage: Stage) -> None:
    """A backup is restored under live workers and clients: what it holds goes on, and so does what comes after it."""
    plans = standard_load(stage.dice, stage.size.jobs)
    middle = parcels_end(plans, len(plans) // 2)
    stage.begin(plans[:middle])
    stage.wait(stage.size.seconds / 4)
    copy_begun = stage.log.now_us()
    restore = _saved(stage)
    copy_ended = stage.log.now_us()
    await_heartbeats(stage)
    return_begun = stage.log.now_us()
    restore()
    gap = Gap(copy_begun, copy_ended, return_begun, stage.log.now_us())
    stage.enqueue(plans[middle:])  # Others begin only now; those from before go on.
    settle(stage, gap=gap, rules=RULES)


def parcels_end(plans: list[Plan], at: int) -> int:
    """The next place from here where what is enqueued together is not torn apart."""
    while at < len(plans) and plans[at - 1].parcel == plans[at].parcel:
        at += 1
    return at


@fault(row=24, engines=("postgresql",), rare=True)
def dump_moved(stage: Stage) -> None:
    """A dump is made under load and restored into another database, where everybody is started again."""
    place = on_postgres(stage)
    stage.begin()
    stage.wait(stage.size.seconds / 4)
    copy_begun = stage.log.now_us()
    dump = dumped(stage, place)
    copy_ended = stage.log.now_us()
    stage.wait(stage.size.seconds / 4)
    everybody = [*stage.workers.values(), *stage.clients.values()]
    return_begun = stage.log.now_us()
    for actor in everybody:
        stage.kill(actor)
    database = f"moved_{place.schema}"
    place.server.execute(f"CREATE DATABASE {database}")
    stage.at_end(lambda: _drop(place, database))
    psql(place, database, dump)
    place.database = database
    stage.reopen()
    gap = Gap(copy_begun, copy_ended, return_begun, stage.log.now_us())
    for actor in everybody:
        stage.again(actor)  # The clients send everything again, with the same ids.
    settle(stage, gap=gap, rules=RULES_IF_SENT_AGAIN)


def _drop(place: PostgresPlace, database: str) -> None:
    place.database = "postgres"
    place.server.execute(f"DROP DATABASE {database} WITH (FORCE)")


def await_heartbeats(stage: Stage) -> None:
    """Of every worker that lives: one must lie between the backup and the restore, as the docs say."""

    def heard() -> dict[int, int]:
        rows = stage.store.list_workers().wait()
        return {row.pid: row.heartbeat_at for row in rows if row.status == "active"}

    pids = {worker.pid for worker in stage.live}
    before = heard()
    until(lambda: all(heard().get(pid, 0) > before.get(pid, 0) for pid in pids), "every worker is heard of")


# With the means of each engine


def _saved(stage: Stage) -> Callable[[], None]:
    """Makes a backup; what it answers restores it, as the page of the engine says."""
    place = stage.place
    if isinstance(place, SqlitePlace):
        backup = stage.folder / "backup.db"
        shell(place.path, f".backup {backup}")
        return lambda: shell(place.path, ".timeout 30000", f".restore {backup}")
    assert isinstance(place, PostgresPlace)
    dump = dumped(stage, place)
    whole = stage.folder / "restore.sql"
    drop = f"SET client_min_messages = warning; DROP SCHEMA {place.schema} CASCADE;"
    whole.write_text(f"{drop}\n{dump.read_text()}")
    return lambda: until(lambda: psql(place, "postgres", whole), "the dump is restored without a deadlock")


def shell(database: Path, *commands: str) -> None:
    """SQLite's own, in a process of its own."""
    told = subprocess.run(
        [sys.executable, "-m", "apsw", str(database), *commands],
        capture_output=True, text=True, timeout=TOOL_SECONDS, check=False,
    )  # fmt: skip
    if told.returncode != 0 or told.stderr:
        raise Broken(f"{commands} failed with {told.returncode}: {told.stdout}{told.stderr}")


def dumped(stage: Stage, place: PostgresPlace) -> Path:
    dump = stage.folder / "dump.sql"
    tool = programs(place.server.version) / "pg_dump"
    subprocess.run([tool, "-n", place.schema, "-f", dump, place.server.url()], check=True, timeout=TOOL_SECONDS)
    return dump


def psql(place: PostgresPlace, database: str, script: Path) -> bool:
    """In one transaction. False if it and others waited for each other: then nothing of it has happened."""
    tool = programs(place.server.version) / "psql"
    told = subprocess.run(
        [tool, "-X", "-1", "-q", "-v", "ON_ERROR_STOP=1", "-f", script, place.server.url(database)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=TOOL_SECONDS, check=False,
    )  # fmt: skip
    if told.returncode != 0 and DEADLOCK not in told.stderr:
        raise Broken(f"psql failed with {told.returncode}: {told.stderr}")
    return told.returncode == 0
