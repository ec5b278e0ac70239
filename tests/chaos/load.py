"""The standard load: what the clients of a run enqueue, drawn from its seed."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec

from penstock import Concurrency, Fixed, RateLimit, Tenant
from penstock.domain.workflows import OnFailure, workflow_id

BACKOFF_SECONDS = 0.05
PATIENT_ATTEMPTS = 50
"""For jobs that should complete however often their workers are killed."""
FAILING_ATTEMPTS = 3
FAIL_SHARE, POISON_SHARE = 0.10, 0.02
MS_MIN, MS_MAX = 5, 50
PARCEL_MAX = 5
KEYS = {"shop-1": 1, "shop-2": 1, "shop-3": 1, "shop-4": 2, "shop-5": 3}
ORDERED_KEYS = frozenset({"shop-1", "shop-2"})
KEY_SHARE = 0.2
RATE = RateLimit("api", 10, per="500ms")
RATE_SHARE = 0.15
TENANTS = (None, None, "acme", "acme", "acme", "beta", "zeta")
"""Whose a job is; those who have some take turns."""

WORKFLOW_JOBS, JOBS_PER_WORKFLOW = 5, 30
"""How many jobs a workflow has, and for how many jobs of the load there is one."""

LOAD_TYPES = ["plain", "exact", "exact_thread", "shaky", "broken", "maker", "tick"]
"""What workers take unless a fault asks for more: handlers in processes need child processes."""

SCHEDULE = "steady"
"""What the clock enqueues beside the clients."""

EXACT = frozenset({"exact", "exact_thread"})
AT_LEAST_ONCE = frozenset({"plain"})

Ending = Literal["completed", "dead", "cancelled", "any", "never"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A job to enqueue. `ending` is how it ends when its attempts are enough for what befalls it.

    Jobs of one `parcel` are enqueued together; those that are `ordered`, in one transaction with a row of the client's.
    One with a `flow` is a workflow, or a job that makes one; `of` is the plan whose workflow a job belongs to.
    """

    id: str
    type: str
    payload: dict[str, Any]
    attempts: int = PATIENT_ATTEMPTS
    ending: Ending = "completed"
    parcel: int = 0
    ordered: bool = False
    key: str | None = None
    rated: bool = False
    tenant: str | None = None
    flow: Flow | None = None
    of: str | None = None

    def given(self) -> dict[str, Any]:
        """The options of its enqueue."""
        limits = {"limit": _limit(self.key)} if self.key is not None else {}
        rate = {"rate_limit": RATE} if self.rated else {}
        whose = {"tenant": Tenant(self.tenant)} if self.tenant is not None else {}
        return {"id": self.id, "attempts": self.attempts, "backoff": Fixed(BACKOFF_SECONDS), **limits, **rate, **whose}


class FlowStep(msgspec.Struct, frozen=True):
    """Jobs that run side by side, after all of the step before."""

    jobs: tuple[Plan, ...]
    on_failure: OnFailure = "stop"


class Flow(msgspec.Struct, frozen=True):
    """Steps one after the other, and how the whole ends when nobody disturbs it. `undo` is run if it has failed."""

    steps: tuple[FlowStep, ...]
    undo: Plan | None = None
    ending: str = "completed"

    @property
    def jobs(self) -> list[Plan]:
        found = [job for step in self.steps for job in step.jobs]
        return found if self.undo is None else [*found, self.undo]


def _limit(key: str) -> Concurrency:
    return Concurrency(key, KEYS[key], ordered=key in ORDERED_KEYS)


def new_id(dice: Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def standard_load(dice: Random, jobs: int) -> list[Plan]:
    """Jobs of 5 to 50 ms, of which 10 % fail (half of them only at first) and 2 % have a payload that fits nothing.
    Some of them are in workflows.
    """
    workflows = jobs // JOBS_PER_WORKFLOW
    plans = _single_jobs(dice, jobs - workflows * WORKFLOW_JOBS)
    for number in range(workflows):
        at = dice.randrange(len(plans))
        while at and plans[at - 1].parcel == plans[at].parcel:
            at -= 1  # What is enqueued together stays together.
        plans.insert(at, msgspec.structs.replace(any_workflow(dice), parcel=-1 - number, ordered=dice.random() < 0.3))
    return plans


def jobs_of(plans: Iterable[Plan]) -> Iterator[Plan]:
    """All jobs that may come to be because of these."""
    for plan in plans:
        if plan.flow is None or plan.type == "maker":
            yield plan
        if plan.flow is not None:
            yield from plan.flow.jobs


def _single_jobs(dice: Random, jobs: int) -> list[Plan]:
    plans: list[Plan] = []
    parcel = 0
    while len(plans) < jobs:
        parcel += 1
        ordered = dice.random() < 0.3
        together = min(dice.choice((1, 1, 1, PARCEL_MAX)), jobs - len(plans))
        found = [_any_job(dice) for _ in range(together)]
        plans += [msgspec.structs.replace(plan, parcel=parcel, ordered=ordered, **_limits(dice)) for plan in found]
    return plans


def _limits(dice: Random) -> dict[str, Any]:
    key = dice.choice(sorted(KEYS)) if dice.random() < KEY_SHARE else None
    return {"key": key, "rated": dice.random() < RATE_SHARE, "tenant": dice.choice(TENANTS)}


def _any_job(dice: Random) -> Plan:
    share = dice.random()
    payload = {"ms": dice.randint(MS_MIN, MS_MAX)}
    if share < POISON_SHARE:
        return Plan(id=new_id(dice), type="plain", payload={"ms": "soon"}, attempts=FAILING_ATTEMPTS, ending="dead")
    if share < POISON_SHARE + FAIL_SHARE / 2:
        return Plan(id=new_id(dice), type="broken", payload=payload, attempts=FAILING_ATTEMPTS, ending="dead")
    if share < POISON_SHARE + FAIL_SHARE:
        return Plan(id=new_id(dice), type="shaky", payload=payload)
    return Plan(id=new_id(dice), type=dice.choice(("plain", "plain", "exact", "exact_thread")), payload=payload)


# Workflows


def any_workflow(dice: Random) -> Plan:
    """A fan-out and a fan-in: all of it completes, or a part fails and the rest goes on, or it fails and is undone; or
    a job makes it.
    """
    id = workflow_id(new_id(dice))
    start, one, two, end, undo = (_part(dice, id) for _ in range(WORKFLOW_JOBS))
    broken = msgspec.structs.replace(undo, type="broken", attempts=FAILING_ATTEMPTS, ending="dead")
    match dice.randrange(4):
        case 0:
            flow = Flow((FlowStep((start,)), FlowStep((one, two, undo)), FlowStep((end,))))
        case 1:
            flow = Flow((FlowStep((start,)), FlowStep((one, two, broken), "continue"), FlowStep((end,))))
        case 2:
            never = msgspec.structs.replace(end, ending="never")
            broken = msgspec.structs.replace(broken, id=two.id)
            flow = Flow((FlowStep((start,)), FlowStep((one, broken)), FlowStep((never,))), undo, "failed")
        case _:
            return _maker(dice)
    return Plan(id=id, type="workflow", payload={}, flow=flow)


def _part(dice: Random, of: str) -> Plan:
    type = "shaky" if dice.random() < FAIL_SHARE / 2 else dice.choice(("plain", "plain", "exact", "exact_thread"))
    return Plan(id=new_id(dice), type=type, payload={"ms": dice.randint(MS_MIN, MS_MAX)}, of=of)


def _maker(dice: Random) -> Plan:
    """Its handler makes the workflow of the jobs with these ids."""
    id = new_id(dice)
    parts = [Plan(id=new_id(dice), type="plain", payload={"ms": MS_MIN}, of=id) for _ in range(WORKFLOW_JOBS - 1)]
    flow = Flow((FlowStep(tuple(parts[:-1])), FlowStep((parts[-1],))))
    return Plan(id=id, type="maker", payload={"ids": [part.id for part in parts]}, flow=flow)


def dealt(plans: list[Plan], hands: int) -> list[list[Plan]]:
    """The parcels shared out among so many clients."""
    return [[plan for plan in plans if plan.parcel % hands == hand] for hand in range(hands)]


def write_plans(path: Path, plans: Iterable[Plan]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(plan) + b"\n" for plan in plans))


def read_plans(path: str) -> Iterator[Plan]:
    with open(path, "rb") as file:
        for line in file:
            yield msgspec.json.decode(line, type=Plan)
