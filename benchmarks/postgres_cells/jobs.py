"""A job that only some cells need, declared alike by those who enqueue and by the worker processes."""

from __future__ import annotations

from typing import Any

from penstock import App, Fixed
from penstock.declare.jobtype import JobType

AnyJob = JobType[Any, Any, Any, Any]


def one_in_ten_fails(app: App) -> AnyJob:
    @app.job(name="penstock.bench.sometimes", attempts=2, backoff=Fixed(0))
    async def sometimes(n: int, body: str) -> None:
        if n % 10 == 0:
            raise ValueError("one in ten")

    return sometimes
