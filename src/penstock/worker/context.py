"""What a handler knows about the job it runs, and what it can say while it runs (SPEC J6)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import msgspec

from penstock.client import JobCall
from penstock.domain.clock import from_us
from penstock.domain.errors import PayloadError, UsageError
from penstock.domain.job import Progress
from penstock.domain.options import Policy, Tenant
from penstock.domain.payload import encode_json
from penstock.store.params import Claim

PROGRESS_BYTES_MAX = 16 * 1024

_current: ContextVar[Context] = ContextVar("penstock_context")


def current() -> Context:
    """The context of the running job, anywhere below its handler."""
    try:
        return _current.get()
    except LookupError:
        raise UsageError("penstock.current() was called outside of a job's handler") from None


class Context:
    """The running attempt. A first parameter annotated `Context` receives it."""

    __slots__ = (
        "_claim",
        "_deadline_us",
        "_follow_ups",
        "_logger",
        "_note",
        "_policy",
        "_progress",
        "cancelled",
        "resources",
    )

    def __init__(
        self,
        claim: Claim,
        policy: Policy,
        resources: Any,
        deadline_us: int | None,
        note: Callable[[], None] | None = None,
    ) -> None:
        self._claim = claim
        self._policy = policy
        self._deadline_us = deadline_us
        self._note = note
        self._progress: str | None = None
        self._follow_ups: list[JobCall[Any]] | None = None
        self._logger: logging.LoggerAdapter[logging.Logger] | None = None
        self.resources = resources
        self.cancelled = False
        """True once the job was asked to stop: a plain handler in a thread should look at it and return."""

    @property
    def id(self) -> str:
        return self._claim.id

    @property
    def type(self) -> str:
        return self._claim.type

    @property
    def queue(self) -> str:
        return self._claim.queue

    @property
    def attempt(self) -> int:
        """Which run this is; the first is 1."""
        return self._claim.attempt

    @property
    def max_attempts(self) -> int:
        return self._policy.attempts

    @property
    def final(self) -> bool:
        """Whether a failure now would be the last."""
        return self._claim.attempt >= self._policy.attempts

    @property
    def tenant(self) -> Tenant | None:
        return self._claim.tenant

    @property
    def tags(self) -> tuple[str, ...]:
        return self._claim.tags or ()

    @property
    def deadline(self) -> datetime | None:
        """When this attempt times out."""
        return None if self._deadline_us is None else from_us(self._deadline_us)

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier claim. Pass it to systems that can check it."""
        return self._claim.token

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this job, different for every job."""
        return self._claim.id

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        if self._logger is None:
            base = logging.getLogger(f"penstock.job.{self._claim.type}")
            self._logger = logging.LoggerAdapter(base, {"job_id": self.id, "attempt": self.attempt})
        return self._logger

    def enqueue(self, call: JobCall[Any]) -> None:
        """Enqueue a follow-up, made by bind(), together with this job's completion: both are stored or neither."""
        if not isinstance(call, JobCall):
            raise UsageError(
                f"ctx.enqueue() takes a call made by bind(), not {type(call).__name__}: ctx.enqueue(job.bind(...))"
            )
        if self._follow_ups is None:
            self._follow_ups = []
        self._follow_ups.append(call)

    def report(self, percent: float | None = None, *, phase: str | None = None, **data: Any) -> None:
        """Say how far the job is. Stored at most twice a second, the last always."""
        if percent is not None and not 0 <= percent <= 100:
            raise PayloadError(f"percent={percent!r} is not possible: a number from 0 to 100")
        progress = Progress(percent, phase, data or None)
        self._progress = encode_json(progress, "progress", PROGRESS_BYTES_MAX)
        if self._note is not None:
            self._note()

    async def progress(self, percent: float | None = None, *, phase: str | None = None, **data: Any) -> None:
        """The same as report(), for async handlers."""
        self.report(percent, phase=phase, **data)


def decode_policy(text: str | None) -> Policy:
    """The stored policy of a job; few distinct texts exist, so they are remembered."""
    if text is None:
        return _DEFAULT
    policy = _policies.get(text)
    if policy is None:
        if len(_policies) > 1000:
            _policies.clear()
        policy = _policies[text] = _decode(text)
    return policy


_DEFAULT = Policy()
_policies: dict[str, Policy] = {}
_decode = msgspec.json.Decoder(Policy).decode
