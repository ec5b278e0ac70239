"""The stage of one run: its store and its processes, what is done to them, and the way back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from penstock import App, StoreError, UnknownSchedule
from penstock.domain.clock import MICROSECONDS
from penstock.domain.job import FINAL, State
from penstock.domain.workflows import WorkflowState
from penstock.engines import open_store
from penstock.store.contract import Count, ListWorkflows, SqlStore
from tests.chaos.actors import Actor, Broken, until
from tests.chaos.cast import Cast
from tests.chaos.figures import Figures
from tests.chaos.load import AT_LEAST_ONCE, EXACT, KEYS, ORDERED_KEYS, RATE, Plan, standard_load
from tests.chaos.places import Place, prepare
from tests.chaos.sizes import Size
from tests.checker.recording import Log, RecordingStore
from tests.checker.rules import Bounds, Rate
from tests.postgres.processes import suspend_all

DRAIN_SECONDS = 90.0
LATE_SECONDS = 10.0
"""How much later than promised a pickup may be before it counts as broken: this machine has other things to do."""

T = TypeVar("T")


class Stage(Cast):
    """Where a fault does its harm, and from which nothing is left at the end."""

    def __init__(self, place: Place, size: Size, seed: int, luck: str, replay: str, folder: Path) -> None:
        """`luck` is what all chance in this run is drawn from: the seed and the name of the run."""
        super().__init__(place, size, folder)
        self.seed = seed
        self.replay = replay
        self.dice = Random(luck)
        self.log = Log(folder, "harness")
        self.look_at(prepare(place))
        self.bounds = Bounds(
            pickup_us=int((size.bound + LATE_SECONDS) * MICROSECONDS),
            once=EXACT,
            at_least_once=AT_LEAST_ONCE,
            key_limits=KEYS,
            ordered_keys=ORDERED_KEYS,
            rates={RATE.key: Rate(RATE.requests, int(RATE.per * MICROSECONDS))},
        )
        self.figures = Figures()
        self.healing: list[Callable[[], None]] = []
        """What ends the harm; called before the drain."""
        self._at_end = ExitStack()
        self.on_crash: Callable[[Actor], object] = self.again
        """What to do when a process has ended itself at a crash point."""

    def look_at(self, store: SqlStore) -> None:
        """What the harness itself asks for goes into the histories too; what it only looks at, does not."""
        self.store = store
        self.recorded = RecordingStore(store, self.log)
        self.app = App(self.recorded)

    def reopen(self) -> None:
        """The store is somewhere else now, or the file is another one."""
        self.store.close()
        self.look_at(open_store(self.place.address()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in self.actors:
            actor.close()
        self._at_end.close()
        self.store.close()

    def at_end(self, end: Callable[[], object]) -> None:
        """To be done when all processes are gone, the last first, whatever happened."""
        self._at_end.callback(end)

    def enter(self, what: AbstractContextManager[T]) -> T:
        """Something that is there until the end."""
        return self._at_end.enter_context(what)

    # The load

    def begin(self, plans: list[Plan] | None = None, **role: Any) -> None:
        """The standard load: workers that have started, and clients that begin to enqueue."""
        for number in range(1, self.size.workers + 1):
            self.start_worker(number, wait=False, **role)
        for worker in self.workers.values():
            worker.wait_started()
        self.enqueue(standard_load(self.dice, self.size.jobs) if plans is None else plans)

    def put(self, plans: list[Plan]) -> None:
        """Enqueue these at once, from here."""
        self.plans |= {plan.id: plan for plan in plans}
        client = self.app.client
        self.app.enqueue_many(client.call_by_name(plan.type, plan.payload, plan.given(), {}) for plan in plans)

    # Harm

    @property
    def live(self) -> list[Actor]:
        """The workers that are at work."""
        return [worker for worker in self.workers.values() if worker.lives and worker.started and not worker.paused]

    def victim(self) -> Actor | None:
        """A worker to be harmed, as long as another is left to go on."""
        return self.dice.choice(self.live) if len(self.live) > 1 else None

    def kill(self, actor: Actor) -> None:
        """End it without a word, and tell the history."""
        actor.kill()
        self.log.killed(actor.name)

    def pause(self, actor: Actor, anywhere: bool = False) -> None:
        """Stop it, but not while it holds a lock that others need: what is between two statements keeps its locks.

        `anywhere` does not care, for a moment that is short enough.
        """
        if anywhere:
            suspend_all([actor.pid])
        else:
            until(lambda: self._stopped(actor), f"{actor.name} stands still without a lock")
        actor.paused = True
        self.log.paused(actor.name)

    def _stopped(self, actor: Actor) -> bool:
        suspend_all([actor.pid])
        if self.place.writable():
            return True
        actor.send(signal.SIGCONT)
        return False

    def resume(self, actor: Actor) -> None:
        self.log.resumed(actor.name)
        actor.paused = False
        actor.send(signal.SIGCONT)

    def loading(self) -> bool:
        """Whether clients still enqueue. Looks after the processes by the way."""
        self.tend()
        return any(client.lives for client in self.clients.values())

    def while_loading(self, low: float, high: float, harm: Callable[[], object]) -> int:
        """Do harm again and again, with pauses of so many seconds, while clients enqueue; how often it was done."""
        done = 0
        give_up = time.monotonic() + 10 * self.size.seconds
        while self.loading() and time.monotonic() < give_up:
            self.wait(self.dice.uniform(low, high))
            harm()
            done += 1
        return done

    def wait(self, seconds: float) -> None:
        """Let the others work for a while: how long a fault lasts is a part of it."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            time.sleep(min(rest, 0.05))
            self.tend()

    def tend(self) -> None:
        """Do what a supervisor does: start again what could not begin. One that began must not end by itself."""
        for actor in [*self.workers.values(), *self.clients.values()]:
            if actor.crashed:
                self.on_crash(actor)
            elif actor.died_by_itself:
                if actor.kind == "client" or actor.started:
                    raise Broken(f"{actor.name} ended by itself, with code {actor.code}")
                self.again(actor)

    # The way back

    def heal(self) -> None:
        """End all harm: everybody runs again."""
        for end in self.healing:
            end()
        for worker in self.workers.values():
            if worker.paused:  # All of them first: it may hold a lock that another needs to end.
                self.resume(worker)
        for worker in list(self.workers.values()):
            if worker.ending:
                worker.wait()  # To be asked once more in its last moment would end it with another code.
            if not worker.lives:
                self.again(worker)
        for client in list(self.clients.values()):
            if not client.lives and client.code != 0:
                self.again(client)

    def drain(self, but: Collection[str] = ()) -> None:
        """Wait until the clients have enqueued all and every job has ended, but those of types that nobody runs."""
        until(lambda: not self.loading(), "the clients have enqueued everything", DRAIN_SECONDS)
        until(self.schedule_stopped, "the schedule is removed", DRAIN_SECONDS)
        try:
            until(lambda: not self._open(but), "every job has ended", DRAIN_SECONDS)
        except Broken as late:
            raise Broken(f"{late}; left: {self._open(but)}") from None

    def schedule_stopped(self) -> bool:
        """It would go on for ever. Where no worker has come so far as to install it, none will."""
        self.tend()
        schedules = App(self.store).schedules
        try:
            for found in schedules.list():
                schedules.remove(found.name)
        except (StoreError, UnknownSchedule):
            return False
        return True

    def _open(self, but: Collection[str]) -> list[Count]:
        """What has not ended. Workflows first: what they do at their end is among the jobs then."""
        self.tend()
        try:
            running = self._stuck()
            found = self.store.count_jobs().wait()
        except StoreError as error:
            return [Count(f"unknown: {error}", "", State.PENDING, 1)]
        return [count for count in found if count.state not in FINAL and count.type not in but] or running

    def _stuck(self) -> list[Count]:
        """Workflows that have not ended, though all jobs have: the leader will see to them."""
        running = self.store.list_workflows(ListWorkflows(states=frozenset({WorkflowState.RUNNING}))).wait()
        return [Count("workflow", one.id, State.BLOCKED, 1) for one in running]

    def stop_workers(self) -> None:
        for worker in self.workers.values():
            worker.wait_started()
            worker.send(signal.SIGTERM)
        for worker in self.workers.values():
            code = worker.wait()
            if code != 0:
                raise Broken(f"{worker.name} was asked to stop and ended with code {code}")
