"""Jobs that run in child processes: importable there, as in a user's project. Their store must never come to be."""

from __future__ import annotations

import os

from penstock import App, Context

app = App("sqlite:///never-made.db")


@app.job(runner="process", attempts=2)
def where(ctx: Context, fail_first: bool = False) -> int:
    ctx.report(50, phase="half")
    if fail_first and ctx.attempt == 1:
        raise ConnectionError("not yet")
    ctx.enqueue(note.using(delay="1h").bind("done"))
    return os.getpid()


@app.job(runner="process", attempts=1)
def enqueue_directly() -> None:
    note.enqueue("never")


@app.job(runner="process", attempts=1, timeout="300ms")
def hang() -> None:
    while True:
        pass


@app.job
def note(text: str) -> str:
    return text


@app.job
async def start_process() -> None:
    await where.aenqueue()
