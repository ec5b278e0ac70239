"""The processes of a run: workers and clients by number, how each was started, and how to start it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.chaos.actors import Actor, Kind
from tests.chaos.load import Plan, dealt, jobs_of, write_plans
from tests.chaos.places import Place
from tests.chaos.program.role import Role
from tests.chaos.sizes import Size


class Cast:
    """Numbers begin at 1. One that is started again keeps its number, and gets a new name."""

    def __init__(self, place: Place, size: Size, folder: Path) -> None:
        self.place = place
        self.size = size
        self.folder = folder
        self.workers: dict[int, Actor] = {}
        self.clients: dict[int, Actor] = {}
        self.actors: list[Actor] = []
        """All that ever were."""
        self.plans: dict[str, Plan] = {}
        """What the clients were told to enqueue, by id: single jobs, and those of workflows."""
        self.flows: list[Plan] = []
        """The workflows, and the jobs that make some."""
        self._changes: dict[str, dict[str, Any]] = {}

    def start_worker(self, number: int, *, wait: bool = True, settings: dict[str, Any] | None = None,
                     **role: Any) -> Actor:  # fmt: skip
        """`settings` are changed ones of a worker, `role` changed fields of its role; both are remembered."""
        self._changes[f"worker-{number}"] = {"settings": self.size.settings(**(settings or {})), **role}
        worker = self.workers[number] = self._start("worker", number)
        if wait:
            worker.wait_started()
        return worker

    def enqueue(self, plans: list[Plan], **role: Any) -> None:
        """Clients that share these jobs out: every second one is async code."""
        self.plans |= {plan.id: plan for plan in jobs_of(plans)}
        self.flows += [plan for plan in plans if plan.flow is not None]
        parcels = len({plan.parcel for plan in plans})
        pause = self.size.seconds * self.size.clients / max(1, parcels)
        for number, hand in enumerate(dealt(plans, self.size.clients), len(self.clients) + 1):
            path = self.folder / f"plans-{number}.txt"
            write_plans(path, hand)
            fields = {"plans": str(path), "pause": pause, "at_once": 1 if number % 2 else 4}
            self._changes[f"client-{number}"] = {**fields, **role}
            self.clients[number] = self._start("client", number)

    def again(self, actor: Actor, **role: Any) -> Actor:
        """The same process once more, after its end; a crash point is not passed on."""
        key = f"{actor.kind}-{actor.number}"
        self._changes[key] = {**self._changes[key], "crash": None, **role}
        new = self._start(actor.kind, actor.number)
        (self.workers if actor.kind == "worker" else self.clients)[actor.number] = new
        return new

    def _start(self, kind: Kind, number: int) -> Actor:
        base = f"{kind}-{number}"
        earlier = sum(actor.name.partition(".")[0] == base for actor in self.actors)
        name = f"{base}.{earlier}" if earlier else base
        fields: dict[str, Any] = {
            "address": self.place.address(),
            "effects": self.place.effects,
            "orders": self.place.orders,
        }
        role = Role(**{**fields, **self._changes[base], "name": name, "histories": str(self.folder)})
        actor = Actor(kind, role, self.folder)
        self.actors.append(actor)
        return actor
