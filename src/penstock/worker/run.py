"""One attempt in a worker's hands, from its beginning to its outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from penstock.client import JobCall
from penstock.domain.options import Policy
from penstock.domain.registry import Declaration
from penstock.store.params import Claim


class Stop(Enum):
    """Why an attempt was told to stop before its handler was done."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"
    RELEASED = "released"


class Plan:
    """What a worker needs to run one job type, looked up once per claimed batch instead of once per job."""

    __slots__ = ("chatty", "declaration", "logger")

    def __init__(self, declaration: Declaration, name: str) -> None:
        self.declaration = declaration
        self.logger = logging.getLogger(f"penstock.job.{name}")
        self.chatty = self.logger.isEnabledFor(logging.INFO)


class Run:
    """An attempt that has begun. `over` is set once, when its outcome is decided; what comes later is ignored."""

    deadline: float | None = None
    """When it times out, by the loop's clock."""
    stop: Stop | None = None
    over = False
    marked = False
    """Whether the store knows that it has begun."""
    reported: str | None = None
    """The progress that the store knows."""
    progress: str | None = None
    follow_ups: tuple[JobCall[Any], ...] = ()
    cancelled = False
    interrupt: Callable[[], Any] | None = None
    """How to stop the handler from outside; None where that is impossible (threads)."""
    resources: Any = None

    def __init__(self, claim: Claim, plan: Plan, policy: Policy, args: Any, started: float, started_us: int) -> None:
        self.claim = claim
        self.plan = plan
        self.policy = policy
        self.args = args
        self.started = started
        self.started_us = started_us

    def call(self, make_context: Callable[[Run], Any]) -> Any:
        """Call the handler with its decoded arguments."""
        declaration = self.plan.declaration
        values = msgspec.structs.asdict(self.args)
        if not declaration.signature.call_positionally:
            if declaration.wants_context:
                return declaration.function(make_context(self), **values)
            return declaration.function(**values)
        names = declaration.signature.names[: declaration.signature.call_positionally]
        first = [make_context(self)] if declaration.wants_context else []
        return declaration.function(*first, *[values.pop(name) for name in names], **values)

    def describe(self) -> str:
        return f"{self.claim.type} {self.claim.id} (attempt {self.claim.attempt})"
