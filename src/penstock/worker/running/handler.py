"""A job as a class: its work, and hooks around it (J1)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Generic, TypeVar

from penstock.domain.job import Progress
from penstock.worker.running.context import Context

D = TypeVar("D")
R = TypeVar("R")

HOOKS = ("on_start", "on_complete", "on_failed", "on_progress")


class Handler(Generic[D, R]):
    """Subclass it, give it what it needs in the constructor, and register it: app.register(Consolidate(repo, llm)).

    `process` and the hooks may be plain or async. The hooks are called in the worker. They never change the
    outcome: an error in one is logged and counted.
    """

    def process(self, ctx: Context, data: D) -> R | Awaitable[R]:
        """Do the work. The fields of `data` are the payload of the job."""
        raise NotImplementedError

    def on_start(self, ctx: Context) -> Awaitable[None] | None:
        """Called before each attempt; the attempt waits for it."""
        return None

    def on_complete(self, ctx: Context, result: R) -> Awaitable[None] | None:
        """Called when the job has completed and that is stored."""
        return None

    def on_failed(self, ctx: Context, error: BaseException) -> Awaitable[None] | None:
        """Called after every failed attempt, when that is stored; ctx.final tells whether it was the last."""
        return None

    def on_progress(self, ctx: Context, progress: Progress) -> Awaitable[None] | None:
        """Called when new progress is stored, at most twice a second, and for the last."""
        return None

    def is_retryable(self, error: BaseException) -> bool:
        """Whether another attempt could help. Asked at once, so it must be quick and plain."""
        return True
