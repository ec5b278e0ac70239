"""One attempt in a worker's hands, from its beginning to its outcome; and a call that carries several of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple

from penstock.client.client import JobCall
from penstock.domain.job import Progress
from penstock.domain.options import Policy, Tenant
from penstock.domain.registry import Declaration, Registry
from penstock.store.call import Call
from penstock.store.contract import Claim, Finished, NewWorkflow, Store


class StopReason(Enum):
    """Why an attempt was told to stop before its handler was done."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"
    RELEASED = "released"


Complete = Callable[["Run", object, Any], Call[Finished]]
"""How to store the completion of a run in a transaction of the handler's."""


class TypePlan:
    """What a worker needs to run one job type, looked up once per claimed batch instead of once per job.

    `resources` is what the app's lifespan yielded; `registry` knows the other types.
    """

    __slots__ = ("chatty", "complete", "declaration", "logger", "registry", "resources", "store")

    def __init__(self, declaration: Declaration, name: str, store: Store, resources: Any = None,
                 complete: Complete | None = None, registry: Registry | None = None) -> None:  # fmt: skip
        self.declaration = declaration
        self.store = store
        self.resources = resources
        self.complete = complete
        self.registry = registry
        self.logger = logging.getLogger(f"penstock.job.{name}")
        self.chatty = self.logger.isEnabledFor(logging.INFO)


class TypePlans:
    """The plans of the types that a batch of claims is about."""

    def __init__(self, registry: Registry, store: Store, resources: Any, complete: Complete) -> None:
        self._registry = registry
        self._store = store
        self._resources = resources
        self._complete = complete
        self.made: dict[str, TypePlan] = {}

    def get(self, name: str) -> TypePlan | None:
        """None if there is no handler for it."""
        if name in self.made:
            return self.made[name]
        if (declaration := self._registry.find(name)) is None:
            return None
        plan = TypePlan(declaration, name, self._store, self._resources, self._complete, self._registry)
        self.made[name] = plan
        return plan

    def forget(self) -> None:
        self.made.clear()


class FinishedIn(NamedTuple):
    """What a handler said when it stored its completion in a transaction of its own. Whether that commits is open."""

    result: Any


class Run:
    """An attempt that has begun. `over` is set once, when its outcome is decided; what comes later is ignored."""

    batched: Literal[False] = False
    deadline: float | None = None
    """When it times out, by the loop's clock."""
    stop: StopReason | None = None
    over = False
    apart = False
    """Whether it runs in a child process."""
    isolated = False
    """Whether that is because it crashed before."""
    waiting = False
    """Whether it waits here: for its batch to fill, for a process, or for its start hook."""
    call_of: BatchCall | None = None
    """The call that it shares with others, once that has begun."""
    told = 0
    """How often the store was told that it has begun."""
    disowned = False
    """Whether it answered that another has it."""
    reported: str | None = None
    """The progress that the store knows."""
    progress: str | None = None
    follow_ups: tuple[JobCall[Any], ...] = ()
    workflows: tuple[NewWorkflow, ...] = ()
    limit: float | None = None
    """How long it may take, in seconds; of a call of several, the shortest of theirs."""
    final: bool | None = None
    """Whether its failure was the last, once it has failed."""
    cancelled = False
    interrupt: Callable[[], Any] | None = None
    """How to stop the handler from outside; None where that is impossible (threads)."""
    hook: asyncio.Task[None] | None = None
    """The hook that was called last; the next one waits for it."""
    news: Progress | None = None
    """Progress that the hook is yet to be told."""
    effects: tuple[str, ...] = ()
    """The keys of what this attempt runs by once()."""
    finished_in: FinishedIn | None = None
    """Set while the handler's own transaction holds its completion, or has committed it."""

    def __init__(
        self, claim: Claim, plan: TypePlan, policy: Policy, args: Any, started: float, started_us: int
    ) -> None:
        self.claim = claim
        self.plan = plan
        self.policy = policy
        self.args = args
        self.started = started
        self.started_us = started_us

    @property
    def runs(self) -> Sequence[Run]:
        return (self,)

    @property
    def unit(self) -> Unit:
        """The call that it is part of."""
        return self.call_of or self

    @property
    def tenant(self) -> Tenant | None:
        return self.claim.tenant

    def call(self, make_context: Callable[[Run], Any]) -> Any:
        """Call the handler with its decoded arguments."""
        declaration = self.plan.declaration
        values, named = declaration.signature.arguments(self.args)
        if declaration.wants_context:
            return declaration.function(make_context(self), *values, **named)
        return declaration.function(*values, **named)

    def say(self, progress: str) -> None:
        """Take down how far the handler is."""
        self.progress = progress

    def describe(self) -> str:
        return f"{self.claim.type} {self.claim.id} (attempt {self.claim.attempt})"


class BatchCall:
    """One call of a batch handler for several runs. Each run still has an outcome of its own."""

    batched: Literal[True] = True
    over = False
    disowned = False  # Some of its jobs may still be this worker's.
    tenant: Tenant | None = None
    """Its jobs may be of different ones."""
    interrupt: Callable[[], Any] | None = None

    def __init__(self, runs: Sequence[Run], isolated: bool = False) -> None:
        self.runs = runs
        self.isolated = isolated
        self.plan = runs[0].plan

    def call(self, make_context: Callable[[BatchCall], Any]) -> Any:
        declaration = self.plan.declaration
        items = [declaration.signature.arguments(run.args)[0][0] for run in self.runs]
        if declaration.wants_context:
            return declaration.function(make_context(self), items)
        return declaration.function(items)


Unit = Run | BatchCall
"""What a runner takes: one call of a handler."""

Ended = Callable[[Unit, Any, BaseException | None], None]
"""Told how a call has ended: with what it returned, or raised."""


def in_thread(unit: Unit) -> bool:
    """Whether it runs in a thread of the worker."""
    return unit.plan.declaration.runner == "thread" and not any(run.apart for run in unit.runs)
