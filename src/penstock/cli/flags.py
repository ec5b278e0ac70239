"""The flags of `worker` and `start`, each made from its config key: same help, same default, same check."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.complete import words
from penstock.config.keys import BY_NAME
from penstock.observe.logs import FORMATS, LEVELS


def _flag(name: str, metavar: str, *short: str, known: tuple[str, ...] = ()) -> Any:
    key = BY_NAME[name]
    return typer.Option(
        key.flag,
        *short,
        metavar=metavar,
        help=f"{key.help}  [default: {key.show(key.default)}]",
        show_default=False,
        autocompletion=words(*known) if known else None,
    )


Slots = Annotated[str | None, _flag("worker.concurrency", "N", "-c")]
Processes = Annotated[str | None, _flag("worker.processes", "N")]
Types = Annotated[str | None, _flag("worker.types", "A,B")]
Queues = Annotated[str | None, _flag("worker.queues", "A,B")]
Capabilities = Annotated[str | None, _flag("worker.capabilities", "A,B")]
Cpu = Annotated[str | None, _flag("worker.resources.cpu", "N")]
Memory = Annotated[str | None, _flag("worker.resources.memory", "SIZE")]
Gpu = Annotated[str | None, _flag("worker.resources.gpu", "N")]
WorkerId = Annotated[str | None, _flag("worker.id", "ID")]
ProcessSlots = Annotated[str | None, _flag("worker.process_slots", "N")]
JobTimeout = Annotated[str | None, _flag("worker.job_timeout", "D")]
MaxJobs = Annotated[str | None, _flag("worker.max_jobs", "N")]
MaxMemory = Annotated[str | None, _flag("worker.max_memory", "SIZE")]
PollInterval = Annotated[str | None, _flag("worker.poll_interval", "D")]
HeartbeatInterval = Annotated[str | None, _flag("worker.heartbeat_interval", "D")]
ShutdownTimeout = Annotated[str | None, _flag("worker.shutdown_timeout", "D")]
Health = Annotated[str | None, _flag("worker.health", "HOST:PORT")]
LogFormat = Annotated[str | None, _flag("log.format", "text|json", known=FORMATS)]
LogLevel = Annotated[str | None, _flag("log.level", "LEVEL", known=LEVELS)]
Burst = Annotated[bool, typer.Option("--burst", help="Stop when nothing is left to do.")]
Reload = Annotated[bool, typer.Option("--reload", help="Start again when the code changes; for development.")]
