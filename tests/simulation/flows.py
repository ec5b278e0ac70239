"""Workflows of a seed: small ones, drawn before anything happens. Some are cancelled, and some retried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock import Workflow
from penstock.client.client import Client
from penstock.domain.workflows import OnFailure
from penstock.store.contract import NewWorkflow
from tests.simulation.features import Theme, draw_features, make_item
from tests.simulation.jobs import bind
from tests.simulation.names import Item

SHARE = 0.4
"""In so many seeds there are any."""
FLOWS_MAX = 4
THEMED = 6
"""More of them in a seed whose theme they are."""
FAILING = {"attempts": 1}


@dataclass(frozen=True, slots=True)
class StepItem:
    name: str
    items: tuple[Item, ...]
    after: tuple[str, ...] = ()
    on_failure: OnFailure = "stop"


Shape = tuple[StepItem, ...]


@dataclass(slots=True, kw_only=True)
class FlowOrder:
    """One workflow. Once it is `planned`, another process can send it again."""

    at: float
    shape: Shape
    undo: Item | None
    cancelled_after: float | None
    one_job_cancelled: bool
    retried: bool
    planned: NewWorkflow | None = None

    def plan(self, client: Client) -> NewWorkflow:
        if self.planned is None:
            undo = None if self.undo is None else _call(self.undo)
            flow = Workflow(client, "flow", compensate=undo)
            for step in self.shape:
                calls = [_call(item) for item in step.items]
                flow.step(calls, name=step.name, after=step.after, on_failure=step.on_failure)
            self.planned = flow.planned()
        return self.planned


def _call(item: Item) -> Any:
    return bind(item.kind, item.args, item.options)


def draw_flows(seed: int, theme: Theme, seconds: float) -> list[FlowOrder]:
    """In time order, from a chance of their own: in seeds without workflows nothing is different for them."""
    random = Random(f"{seed} flows")
    themed = "workflow" in theme
    if random.random() >= SHARE and not themed:
        return []
    orders = [_draw_order(random, seconds) for _ in range(random.randint(1, FLOWS_MAX))]
    orders += [_draw_themed(random, theme, seconds) for _ in range(THEMED if themed else 0)]
    return sorted(orders, key=lambda order: order.at)


def _draw_order(random: Random, seconds: float) -> FlowOrder:
    [shape] = random.choices([shape for shape, _ in SHAPES], [weight for _, weight in SHAPES])
    return FlowOrder(
        at=random.uniform(0.0, seconds),
        shape=shape(random),
        undo=_job(random) if random.random() < 0.5 else None,
        cancelled_after=random.expovariate(4.0) if random.random() < 0.25 else None,
        one_job_cancelled=random.random() < 0.4,
        retried=random.random() < 0.7,
    )


def _draw_themed(random: Random, theme: Theme, seconds: float) -> FlowOrder:
    """A step of jobs with features of the seed, and one that comes after it, as well as it may."""
    features = draw_features(random, theme - {"unique", "bulk", "follow-up", "schedule"})
    first, second = (tuple(make_item(random, features) for _ in range(random.randint(1, 2))) for _ in range(2))
    return FlowOrder(
        at=random.uniform(0.0, seconds),
        shape=(StepItem("first", first, (), "continue"), StepItem("second", second, ("first",))),
        undo=make_item(random, features) if random.random() < 0.5 else None,
        cancelled_after=random.expovariate(4.0) if "cancel" in features else None,
        one_job_cancelled=True,
        retried=random.random() < 0.3,
    )


# Jobs


def _job(random: Random) -> Item:
    kind = random.choice(("work", "work", "pay", "careful"))
    seconds = random.uniform(0.005, 0.2)
    return Item(kind, {"data": {"seconds": seconds}} if kind == "careful" else {"seconds": seconds})


def _work(random: Random) -> Item:
    return Item("work", {"seconds": random.uniform(0.005, 0.2)})


def _failing(random: Random) -> Item:
    return Item("work", {"seconds": random.uniform(0.005, 0.1), "fails": 99}, dict(FAILING))


# Shapes


def _chain(random: Random) -> Shape:
    names = ("first", "second", "third")[: random.randint(2, 3)]
    return tuple(
        StepItem(name, (_job(random),), names[number - 1 : number]) for number, name in enumerate(names)
    )  # fmt: skip


def _fan(random: Random) -> Shape:
    """Out and in again; now and then of no jobs at all, or with one that fails."""
    items = [_work(random) for _ in range(random.choice((0, 2, 3)))]
    policy: OnFailure = random.choice(("stop", "continue"))
    if random.random() < 0.3:
        items.append(_failing(random))
    return (
        StepItem("start", (_job(random),)),
        StepItem("many", tuple(items), ("start",), policy),
        StepItem("gather", (Item("gather", {"step": "many", "size": len(items)}),), ("many",)),
    )


def _diamond(random: Random) -> Shape:
    top, left, right, bottom = (_job(random) for _ in range(4))
    return (
        StepItem("top", (top,)),
        StepItem("left", (left,), ("top",)),
        StepItem("right", (right,), ("top",)),
        StepItem("bottom", (bottom,), ("left", "right")),
    )


def _failed(random: Random) -> Shape:
    policy: OnFailure = random.choice(("stop", "stop", "continue"))
    shaky = StepItem("shaky", (_job(random), _failing(random)), (), policy)
    return shaky, StepItem("next", (_job(random),), ("shaky",))


def _hasty(random: Random) -> Shape:
    """Its first job may expire, which nobody but the leader notices."""
    late = Item("work", {"seconds": 0.01}, {"ttl": random.uniform(0.05, 0.3), "delay": random.uniform(0.0, 0.4)})
    policy: OnFailure = random.choice(("stop", "continue"))
    return StepItem("hasty", (late,), (), policy), StepItem("next", (_job(random),), ("hasty",))


def _deadly(random: Random) -> Shape:
    """Its first job is lost with its worker, once and for all."""
    deadly = Item("deadly", {"seconds": 0.01, "deaths": 99}, dict(FAILING))
    return StepItem("deadly", (deadly,), (), "continue"), StepItem("next", (_job(random),), ("deadly",))


def _nested(random: Random) -> Shape:
    """Its first job makes a workflow of its own."""
    spawn = Item("spawn", {"size": random.choice((1, 2)), "seconds": random.uniform(0.005, 0.1)})
    return StepItem("spawn", (spawn,)), StepItem("next", (_job(random),), ("spawn",))


SHAPES: tuple[tuple[Callable[[Random], Shape], float], ...] = (
    (_chain, 4), (_fan, 6), (_diamond, 3), (_failed, 4), (_hasty, 3), (_deadly, 1), (_nested, 4),
)  # fmt: skip
