"""The jobs of the demo: a small shop whose neighbours are not always there.

The app is a variable of this module, and its store is named by the environment, so that child processes and other
workers find the same jobs in the same place.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from dataclasses import dataclass

from penstock.app import App
from penstock.domain.errors import DoNotRetry
from penstock.domain.options import Fixed
from penstock.worker.running.batches import Failed
from penstock.worker.running.context import Context

STORE_VARIABLE = "PENSTOCK_STORE"
HEARTBEAT_SECONDS = 0.5
PACKING = "packing"
REPORT_SECONDS = 0.8

app = App(os.environ.get(STORE_VARIABLE, "sqlite:///demo.db"))


@app.job(queue="mail", backoff=Fixed("700ms"))
async def send_email(ctx: Context, to: str) -> str:
    await asyncio.sleep(0.4)
    if to in ("linus", "margaret") and ctx.attempt == 1:
        raise ConnectionError("the mail server hung up")
    return f"sent to {to}"


@app.job(queue="images")
def resize_image(ctx: Context, name: str, seconds: float) -> str:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        ctx.report(100 * passed / seconds, phase=f"{int(4 * passed / seconds) + 1} of 4 sizes")
        time.sleep(0.05)
    return "4 sizes made"


@app.job(runner="process", timeout="1500ms", backoff=Fixed("200ms"))
def monthly_report(ctx: Context, month: str) -> str:
    while ctx.attempt == 1:
        pass  # A loop that never ends: only killing the process stops it.
    digest, rounds, began = month.encode(), 0, time.monotonic()
    while (passed := time.monotonic() - began) < REPORT_SECONDS:
        digest, rounds = hashlib.sha256(digest).digest(), rounds + 1
        if rounds % 1000 == 0:
            ctx.report(100 * passed / REPORT_SECONDS, phase="adding up")
    return f"{rounds:,} lines added up by process {os.getpid()}"


@dataclass
class Text:
    text: str


@app.batch_job(size=5, wait="300ms")
async def embed(items: list[Text]) -> list[str | Failed]:
    await asyncio.sleep(0.4)  # One request for all of them.
    return [f"in a call of {len(items)}" if item.text else Failed(DoNotRetry("the text is empty")) for item in items]


@app.job
async def send_reminder(to: str) -> str:
    return f"reminded {to}"


@app.job
async def welcome(to: str) -> str:
    return f"welcomed {to}"


@app.job(queue="money", attempts=5)
async def charge_card(customer: str) -> None:
    await asyncio.sleep(0.2)
    raise DoNotRetry(f"the card of {customer} was reported stolen")


@app.job(queue="money", attempts=3, backoff=Fixed("600ms"))
async def sync_orders(partner: str) -> None:
    await asyncio.sleep(0.1)
    raise TimeoutError(f"{partner} did not answer")


@app.job(capability=PACKING, backoff=Fixed("100ms"))
async def pack_order(ctx: Context, order: str) -> str:
    for done in range(25):
        await ctx.progress(4 * done, phase="packing")
        await asyncio.sleep(0.08)
    return f"packed by process {os.getpid()}"


@app.job
async def noop() -> None: ...
