"""A handler class that writes down what its hooks are told."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from penstock import Context, DoNotRetry, Handler, Progress, current


@dataclass
class Order:
    id: int
    note: str = ""


class Told(Handler[Order, str]):
    """Writes down what its hooks are told. The order's note says what process does."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    async def process(self, ctx: Context, data: Order) -> str:
        self.told.append(("process", data.id))
        await ctx.progress(data.id, phase="under way")
        if data.note == "fail" or (data.note == "recover" and ctx.attempt == 1):
            raise ValueError(data.note)
        if data.note == "never":
            raise DoNotRetry(data.note)
        if data.note == "hang":
            await asyncio.Event().wait()
        return f"order {data.id}"


class Async(Told):
    async def on_start(self, ctx: Context) -> None:
        self.told.append(("start", ctx.attempt, current().id == ctx.id))

    async def on_complete(self, ctx: Context, result: str) -> None:
        self.told.append(("complete", result))

    async def on_failed(self, ctx: Context, error: BaseException) -> None:
        self.told.append(("failed", type(error).__name__, ctx.final))

    async def on_progress(self, ctx: Context, progress: Progress) -> None:
        self.told.append(("progress", progress.percent, progress.phase))


class Plain(Told):
    def on_start(self, ctx: Context) -> None:
        self.told.append(("start", ctx.attempt, current().id == ctx.id))

    def on_complete(self, ctx: Context, result: str) -> None:
        self.told.append(("complete", result))

    def on_failed(self, ctx: Context, error: BaseException) -> None:
        self.told.append(("failed", type(error).__name__, ctx.final))

    def on_progress(self, ctx: Context, progress: Progress) -> None:
        self.told.append(("progress", progress.percent, progress.phase))


START, UNDER_WAY = ("start", 1, True), ("progress", 7, "under way")
