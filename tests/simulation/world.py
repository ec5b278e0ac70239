"""One seed: three workers, two clients and an operator on one store; chaos, then healing, draining and an exam."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import WorkerRefused
from penstock.domain.job import FINAL
from penstock.domain.workflows import WorkflowState
from penstock.store.contract import ListWorkflows
from penstock.store.sqlite.store import SqliteStore
from tests.checker.events import Event
from tests.checker.history import History
from tests.checker.truth import Truth, read_truth
from tests.simulation.clients import ClientProcess, HurriedProcess, JobsProcess, OperatorProcess, ResumingProcess
from tests.simulation.clock import TrueClock
from tests.simulation.ending import misplaced_jobs, untrue_counts, untrue_ends, untrue_hooks, workers_left
from tests.simulation.features import bring_about, draw_theme
from tests.simulation.flow_clients import FlowsProcess
from tests.simulation.flows import draw_flows
from tests.simulation.jobs import EFFECTS, EFFECTS_READ
from tests.simulation.loop import Time, VirtualLoop
from tests.simulation.names import Item
from tests.simulation.nemesis import Nemesis
from tests.simulation.orders import Order, draw_orders
from tests.simulation.process import SLOTS, Heard, Process, Surroundings, WorkerProcess, is_expected
from tests.simulation.schedules import add_schedules, left_out, read_rows
from tests.simulation.weather import CALM, draw_weather

RUNNING = frozenset({WorkflowState.RUNNING})
WORKERS = 3
CLIENTS = 2
JOBS_MIN, JOBS_MAX = 60, 140
CHAOS_SECONDS_MIN, CHAOS_SECONDS_MAX = 3.0, 9.0
DRAIN_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.25
EXAM_SECONDS = 0.5
PICKUP_SECONDS_MAX = 15.0
"""Where nothing happens but deaths: staleness, the leader's lease, the intervals, the backoff, and busy slots."""


class World:
    """Everything that happens in one seed. `problems` are what no checker of histories would see."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        self._random = Random(f"{seed} world")
        self.theme = draw_theme(seed)
        self._weather = bring_about(self.theme, draw_weather(self._random))
        self._chaos_seconds = self._random.uniform(CHAOS_SECONDS_MIN, CHAOS_SECONDS_MAX)
        self.events: list[Event] = []
        self.problems: list[str] = []
        self.time = Time(Random(f"{seed} order"))
        self._loop = VirtualLoop(self.time, "world")
        clock = TrueClock(self.time)
        self.store = SqliteStore(str(folder / "jobs.db"), synchronous="normal", clock=clock)
        self._around = Surroundings(
            seed=seed, path=folder / "jobs.db", time=self.time, clock=clock, outside=self._loop, weather=self._weather,
            theme=self.theme, events=self.events, hooks=[], heard=Heard(), ended=self._ended,
        )  # fmt: skip
        self._processes: list[Process] = []
        self._closing = False
        with self.store.transaction() as tx:
            tx.execute(EFFECTS)
        add_schedules(self.store, self._random, self.theme, self._chaos_seconds)

    def run(self) -> None:
        """From the first start to the last stop."""
        story = self._loop.create_task(self._story())
        try:
            self.time.run(story.done)
            story.result()
        finally:
            self._closing = True
            story.cancel()
            self._bury_all()
        self.problems += [f"{one.name}: {error}" for one in self._processes for error in one.loop.errors]
        self.problems += [f"{one.name}: {what}" for one in self._processes for what in one.overused]
        self.problems += [f"the world: {error}" for error in self._loop.errors]

    @property
    def pickup_us(self) -> int | None:
        """How soon a dead worker's jobs must be taken up, where the store can always be reached."""
        return int(PICKUP_SECONDS_MAX * MICROSECONDS) if self._weather.only_deaths else None

    def truth(self) -> Truth:
        """What the store holds when all is over; what is odd about it is a problem."""
        with self.store.transaction() as tx:
            effects = [(str(job), int(str(token))) for job, token in tx.execute(EFFECTS_READ)]
            self.problems += misplaced_jobs(tx)
        self.problems += left_out(self.store)
        self.problems += [*workers_left(self.store), *untrue_hooks(self._around.hooks, History(self.events))]
        truth = read_truth(self.store, effects)
        self.problems += untrue_ends(self._around.heard.jobs, truth.jobs)
        self.problems += untrue_counts(self.store, truth.jobs, "removed" in self.theme)
        return truth

    def close(self) -> None:
        for one in self._processes:
            one.close()
        self.store.close()

    # Who lives

    def living(self) -> list[Process]:
        return [one for one in self._processes if not one.over]

    def _start(self, process: Process) -> None:
        self._processes.append(process)
        process.start()

    def _start_worker(self, number: int, times: int) -> None:
        name = f"worker-{number}" if times == 0 else f"worker-{number}.{times}"
        worker_id = f"worker-{number}" if self._weather.own_ids else name
        self._start(WorkerProcess(name, worker_id, self._around))

    def _ended(self, process: Process) -> None:
        """Another takes its place after a moment, as a supervisor would see to it."""
        if not is_expected(process.error):
            self.problems.append(f"{process.name} ended with {process.error!r}")
        if not self._closing:
            refused = isinstance(process.error, WorkerRefused)
            self._loop.call_later(self._random.uniform(0.5 if refused else 0.05, 1.0), self._replace, process)

    def _replace(self, process: Process) -> None:
        name, _, times = process.name.partition(".")
        again = int(times or 0) + 1
        if self._closing:
            return
        if isinstance(process, WorkerProcess):
            self._start_worker(int(name.partition("-")[2]), again)
        elif isinstance(process, ClientProcess) and process.orders:
            self._start(type(process)(f"{name}.{again}", process.orders, self._around))

    # The story

    async def _story(self) -> None:
        for number in range(1, WORKERS + 1):
            self._start_worker(number, 0)
        for number in range(1, CLIENTS + 1):
            jobs = self._random.randint(JOBS_MIN, JOBS_MAX) // CLIENTS
            orders = draw_orders(self._random, self.theme, jobs, 0.8 * self._chaos_seconds)
            self._start(JobsProcess(f"client-{number}", orders, self._around))
        flows = draw_flows(self.seed, self.theme, 0.8 * self._chaos_seconds)
        if flows:
            self._start(FlowsProcess("flows-1", flows, self._around))
        operator = OperatorProcess("operator-1", self._around)
        hurried = HurriedProcess("operator-3", self._around)
        self._start(operator)
        self._start(hurried)
        nemesis = Nemesis(self._weather, self._random, self)
        reigns = [self._loop.create_task(reign) for reign in nemesis.reigns()]
        await asyncio.sleep(self._chaos_seconds)
        for reign in reigns:
            reign.cancel()
        operator.kill()
        hurried.kill()
        self._heal()
        resuming = ResumingProcess("operator-2", self._around)
        self._start(resuming)
        await self._until(self._drained, "the jobs to end", DRAIN_SECONDS_MAX)
        await self._examine()
        resuming.kill()
        await self._stop_all()

    def _heal(self) -> None:
        self._around.weather = replace(CALM, own_ids=self._weather.own_ids)
        for one in self.living():
            one.line.calm_down()
            one.resume()

    def _drained(self) -> bool:
        """Whether everything was enqueued, the schedules are finished, and all has ended."""
        if any(isinstance(one, ClientProcess) and (one.orders or not one.over) for one in self._processes):
            return False
        if not all(one.line.is_clear for one in self.living()):
            return False
        if any(row.next_at is not None for row in read_rows(self.store)):
            return False
        if any(one.state not in FINAL for one in self.store.count_jobs().wait()):
            return False
        return not self.store.list_workflows(ListWorkflows(states=RUNNING, limit=1)).wait()

    def _staffed(self) -> bool:
        """Whether every worker is at its place: none was killed a moment ago, or is refused because of that."""
        registered = {event.process for event in self.events if event.op == "register" and event.phase == "ok"}
        workers = [one for one in self.living() if isinstance(one, WorkerProcess) and one.name in registered]
        return len(workers) == WORKERS

    async def _examine(self) -> None:
        """Every worker must still be of use: there is enough to do for all of them at once."""
        await self._until(self._staffed, "all workers to be back", DRAIN_SECONDS_MAX)
        items = tuple(Item("work", {"seconds": EXAM_SECONDS}) for _ in range(2 * SLOTS * WORKERS))
        begun = len(self.events)
        self._start(JobsProcess("client-exam", [Order(0.0, items, None, None)], self._around))
        await self._until(self._drained, "the last jobs to end", DRAIN_SECONDS_MAX)
        took_part = {event.process for event in self.events[begun:] if event.op == "run"}
        idle = [one.name for one in self.living() if isinstance(one, WorkerProcess) and one.name not in took_part]
        if idle:
            self.problems.append(f"{', '.join(idle)} did not take any of {len(items)} jobs of {EXAM_SECONDS} s")

    async def _stop_all(self) -> None:
        self._closing = True
        for one in self.living():
            if isinstance(one, WorkerProcess):
                one.stop()
        await self._until(lambda: not self.living(), "the workers to stop", STOP_SECONDS_MAX)

    async def _until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        end = self.time.now + seconds
        while not condition():
            if self.time.now > end:
                self.problems.append(f"waited in vain for {what}, {seconds:.0f} s after all was well again")
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _bury_all(self) -> None:
        """End what is left of all code, so that nothing of it lingers in this real process."""
        while left := [task for one in self._processes for task in one.bury()]:
            self.time.run(partial(_all_done, left))


def _all_done(tasks: list[asyncio.Task[Any]]) -> bool:
    while tasks and tasks[-1].done():
        del tasks[-1]
    return not tasks
