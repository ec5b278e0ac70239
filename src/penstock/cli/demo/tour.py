"""The tour: a real worker on a real store, one scene after another, and a measured burst at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.cli.demo.events import about
from penstock.cli.demo.packer import WORKERS, Packers
from penstock.cli.demo.scenes import Scene
from penstock.cli.demo.screen import Screen, announce, screen
from penstock.cli.demo.shop import HEARTBEAT_SECONDS, app, noop
from penstock.cli.output.say import say
from penstock.domain.job import FINAL, Job, State
from penstock.store.contract import ListJobs

LOOK_SECONDS = 0.1
SCENE_SECONDS_MAX = 15.0
KILL_AT_PERCENT = 30
BURST_JOBS = 2_000
BURST_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Burst:
    """What the burst of empty jobs took: storing them, and until the last was stored as completed."""

    jobs: int
    enqueue_seconds: float
    total_seconds: float
    completed: int


class Stopped(Exception):
    """The worker has ended before the tour: somebody pressed Ctrl-C."""


class Tour:
    """`run()` answers whether it came to its end; Ctrl-C ends it early and in order."""

    def __init__(self, played: list[Scene]) -> None:
        self.app = app
        self._scenes = played
        self.burst: Burst | None = None
        self._began = time.monotonic()

    async def run(self) -> bool:
        say(f"store: {self.app.store.info.address}")
        self._worker = asyncio.create_task(self._work())
        try:
            with Packers() as packers:
                await self._play_all(packers)
            return True
        except Stopped:
            return False
        finally:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _play_all(self, packers: Packers) -> None:
        count = len(self._scenes) + 1
        for number, scene in enumerate(self._scenes, 1):
            announce(f"{number} of {count}", scene.title, scene.says)
            await self._play(scene, packers)
        announce(f"{count} of {count}", "How fast", f"{BURST_JOBS:,} empty jobs.")
        await self._measure()

    async def _work(self) -> None:
        """This process's own worker. Short heartbeats, so that the tour need not wait long for a recovery."""
        await self.app.run_worker(
            concurrency=20,
            process_slots=1,
            heartbeat_interval=HEARTBEAT_SECONDS,
            recovery_interval=HEARTBEAT_SECONDS,
            leader_lease=HEARTBEAT_SECONDS,
            shutdown_timeout=0,
        )

    def _check(self) -> None:
        """The worker ends early when it is interrupted, or by an error, which is raised here."""
        if self._worker.done():
            self._worker.result()
            raise Stopped

    # A scene

    async def _play(self, scene: Scene, packers: Packers) -> None:
        ends = time.monotonic() + SCENE_SECONDS_MAX
        victim = scene.kills
        if victim:
            await self._until_registered(ends)
        await self.app.aenqueue_many(scene.calls)
        with screen(self._began) as shown:
            while True:
                jobs = await self._jobs(scene)
                shown.update(jobs)
                if all(job.state in FINAL for job in jobs) or time.monotonic() > ends:
                    break
                victim = victim and not self._kill(packers, jobs, shown)
                self._check()
                await asyncio.sleep(LOOK_SECONDS)
        say(f"  → {scene.shows(jobs)}")

    async def _jobs(self, scene: Scene) -> list[Job]:
        return (await self.app.store.list_jobs(ListJobs(tag=scene.name, limit=50)))[::-1]

    async def _until_registered(self, ends: float) -> None:
        while time.monotonic() < ends:
            self._check()
            alive = [worker for worker in await self.app.store.list_workers() if worker.status == "active"]
            if len(alive) > WORKERS:
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _kill(self, packers: Packers, jobs: Sequence[Job], shown: Screen) -> bool:
        """Kill the worker of the first order when both are at work; true if that was now."""
        first = jobs[0]
        percent = first.progress.percent if first.progress else None
        if any(job.state is not State.RUNNING for job in jobs) or (percent or 0) < KILL_AT_PERCENT:
            return False
        killed = packers.kill(first.worker_id or "")
        shown.say(f"kill -9 {killed}: {first.worker_id} is gone, with {about(first)} at {percent:.0f} %")
        return True

    # The burst

    async def _measure(self) -> None:
        before = await self._completed()
        began = time.perf_counter()
        await self.app.aenqueue_many(noop.bind() for _ in range(BURST_JOBS))
        enqueued = time.perf_counter()
        completed = 0
        while completed < BURST_JOBS and time.perf_counter() - began < BURST_SECONDS_MAX:
            self._check()
            await asyncio.sleep(0.01)
            completed = await self._completed() - before
        self.burst = Burst(BURST_JOBS, enqueued - began, time.perf_counter() - began, completed)

    async def _completed(self) -> int:
        return sum(count.jobs for count in await self.app.store.count_jobs() if count.state == "completed")
