"""One volume in two containers: each has it at another place, and does not know the other's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

from penstock.store.contract import RegisterWorker
from penstock.store.sqlite.connection.doorbell import RING, RING_BYTES_MAX
from tests.chaos.actors import PATIENCE_SECONDS, Broken
from tests.chaos.catalogue import fault
from tests.chaos.faults.copies import on_sqlite
from tests.chaos.load import Plan, new_id, standard_load
from tests.chaos.places import prepare
from tests.chaos.settle import settle
from tests.chaos.stage import Stage
from tests.nursery.nursery import ROOT

PLACES = ("here", "there")


@fault(row=28, engines=("sqlite",), rare=True)
def two_namespaces(stage: Stage) -> None:
    """Processes reach one file by different paths, in mount namespaces of their own: turns, bells and locks hold."""
    views = _views(stage)
    _check_bell(stage, *views)
    for number in range(1, stage.size.workers + 1):
        stage.start_worker(number, **views[number % 2])
    plans = standard_load(stage.dice, stage.size.jobs)
    for view, hand in zip(views, (0, 1), strict=True):
        stage.enqueue([plan for plan in plans if plan.parcel % 2 == hand], **view)

    def harm() -> None:
        victim = stage.victim()
        if victim is not None:
            stage.kill(victim)
            stage.again(victim)

    stage.while_loading(0.5, 1.0, harm)
    settle(stage)


def _views(stage: Stage) -> list[dict[str, Any]]:
    """The store moves to a folder of its own, the volume; how each container is told of it."""
    place = on_sqlite(stage)
    volume = stage.folder / "volume"
    volume.mkdir()
    stage.store.close()
    place.path = volume / "jobs.db"
    stage.look_at(prepare(place))
    for name in PLACES:
        (stage.folder / name).mkdir()
        _must_be_allowed(str(volume), str(stage.folder / name))
    return [
        {"address": f"sqlite:///{stage.folder / name}/jobs.db", "volume": (str(volume), str(stage.folder / name))}
        for name in PLACES
    ]


def _must_be_allowed(volume: str, mounted: str) -> None:
    """Said here, where it is seen, and not in the log of a process that is started again and again."""
    tried = subprocess.run(
        [sys.executable, "-m", "tests.chaos.program.namespaces", volume, mounted],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode != 0:
        raise Broken(f"no mount namespace could be made: {tried.stderr.strip().splitlines()[-1]}")


def _check_bell(stage: Stage, here: dict[str, Any], there: dict[str, Any]) -> None:
    """Whoever enqueues in either of them rings the bells of workers that are somewhere else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bell:
        bell.bind(("127.0.0.1", 0))
        bell.settimeout(PATIENCE_SECONDS)
        stage.store.register_worker(
            RegisterWorker(
                worker_id="ear", host="elsewhere", pid=os.getpid(), version="0", slots=1, stale_after=600.0,
                types=("nothing",), bell=bell.getsockname()[1],
            )
        ).wait()  # fmt: skip
        for view in (here, there):
            stage.enqueue([Plan(id=new_id(stage.dice), type="plain", payload={"ms": 5})], **view)
            try:
                rung = bell.recv(RING_BYTES_MAX)
            except TimeoutError:
                raise Broken(f"nobody rang for a job that was enqueued by way of {view['address']}") from None
            if not rung.startswith(RING):
                raise Broken(f"the bell heard {rung!r}")
