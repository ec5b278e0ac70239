"""`penstock start`: everything that one machine needs, in one process."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.guard import guarded
from penstock.cli.worker import Burst, ShutdownTimeout, Slots
from penstock.domain.errors import ConfigError


@guarded
def start(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:APP]", help="Where the App is, such as tasks:app.", show_default=False),
    ] = None,
    concurrency: Slots = None,
    shutdown_timeout: ShutdownTimeout = None,
    burst: Burst = False,
) -> None:
    """Run all that exists in one process: a worker, which also recovers lost jobs and removes old ones.

    \b
    penstock start tasks:app
    """  # fmt: skip
    from penstock.cli.worker import run

    if target is None:
        raise ConfigError("start needs to know your App: penstock start MODULE:APP, such as penstock start tasks:app")
    run(target, concurrency=concurrency, shutdown_timeout=shutdown_timeout, burst=burst)
