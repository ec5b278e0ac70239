"""The jobs of the demo: a small shop whose neighbours are not always there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.app import App
from penstock.client import JobCall
from penstock.domain.errors import DoNotRetry
from penstock.domain.options import Fixed
from penstock.jobtype import JobType
from penstock.worker.context import Context

CUSTOMERS = ("ada", "grace", "linus", "margaret", "edsger", "barbara")


@dataclass(frozen=True)
class Shop:
    """The calls of the tour, and the empty job whose throughput is measured."""

    calls: list[JobCall[object]]
    noop: JobType[[], Any, [], None]


def declare(app: App) -> Shop:
    """Declare the jobs on this app and bind the calls of the tour."""

    @app.job(queue="mail", backoff=Fixed("700ms"))
    async def send_email(ctx: Context, to: str) -> str:
        await asyncio.sleep(0.2)
        if to in ("linus", "margaret") and ctx.attempt == 1:
            raise ConnectionError("the mail server hung up")
        return f"sent to {to}"

    @app.job(queue="images")
    def resize_image(ctx: Context, name: str, steps: int = 4) -> dict[str, object]:
        for step in range(steps):
            ctx.report(100 * step / steps, phase=f"pass {step + 1}")
            time.sleep(0.25)
        return {"image": name, "width": 800}

    @app.job(queue="money", attempts=5)
    async def charge_card(customer: str) -> None:
        await asyncio.sleep(0.1)
        raise DoNotRetry(f"the card of {customer} was reported stolen")

    @app.job(queue="money", attempts=3, backoff=Fixed("900ms"))
    async def sync_orders(shop: str) -> None:
        await asyncio.sleep(0.1)
        raise TimeoutError(f"{shop} did not answer")

    @app.job
    async def send_reminder(to: str) -> str:
        return f"reminded {to}"

    @app.job
    async def noop() -> None: ...

    def calls() -> Iterator[JobCall[object]]:
        for number, customer in enumerate(CUSTOMERS):
            yield send_email.bind(customer)
            yield resize_image.bind(f"{customer}.png", steps=3 + number % 3)
            yield send_reminder.using(delay=f"{1 + number}s").bind(customer)
        yield charge_card.bind("mallory")
        yield sync_orders.bind("the warehouse")

    return Shop(list(calls()), noop)
