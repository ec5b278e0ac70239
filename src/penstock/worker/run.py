"""One attempt in a worker's hands, from claim to outcome."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from penstock.domain.options import Policy
from penstock.domain.registry import Declaration
from penstock.store.params import Claim
from penstock.worker.context import Context


class Stop(Enum):
    """Why an attempt was told to stop before its handler was done."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"
    RELEASED = "released"


class Run:
    """An attempt that has begun. `over` is set once, when its outcome is decided; what comes later is ignored."""

    __slots__ = ("args", "claim", "context", "deadline", "declaration", "interrupt", "marked", "over", "policy", "reported",
                 "started", "started_us", "stop", "stopped")  # fmt: skip

    def __init__(self, claim: Claim, declaration: Declaration, policy: Policy, args: Any, context: Context) -> None:
        self.claim = claim
        self.declaration = declaration
        self.policy = policy
        self.args = args
        self.context = context
        self.started = 0.0
        self.started_us = 0
        self.deadline: float | None = None
        self.stop: Stop | None = None
        self.stopped = 0.0
        self.over = False
        self.marked = False
        self.reported: str | None = None
        self.interrupt: Callable[[], Any] | None = None
        """How to stop the handler from outside; None where that is impossible (threads)."""

    def call(self) -> Any:
        """Call the handler with its decoded arguments."""
        declaration, args = self.declaration, self.args
        signature = declaration.signature
        values = {name: getattr(args, name) for name in signature.names}
        first = [self.context] if declaration.wants_context else []
        if signature.call_positionally:
            first += [values.pop(name) for name in signature.names[: signature.call_positionally]]
        return declaration.function(*first, **values)

    def describe(self) -> str:
        return f"{self.claim.type} {self.claim.id} (attempt {self.claim.attempt})"
