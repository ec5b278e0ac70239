"""The jobs of running.py, in a module of their own: child processes import the app by its module's name."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from penstock import App, Context

folder = Path.cwd()
app = App(f"sqlite:///{folder}/running.db")


@app.job(runner="process")
def where() -> int:
    return os.getpid()


@app.job(timeout=None)
async def long(ctx: Context, reports_per_second: int) -> None:
    """Runs until it is cancelled, and says how far it is."""
    done = 0
    while True:
        await asyncio.sleep(1 / reports_per_second if reports_per_second else 1)
        done += 1
        if reports_per_second:
            ctx.report(done % 100, phase="working")


@app.job
async def noop() -> None: ...
