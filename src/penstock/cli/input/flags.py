"""The flags of `worker`, `start` and `coordinator`, each made from its config key: same help, default and check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from penstock.cli.input.complete import words
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
WorkerId = Annotated[str | None, _flag("worker.id", "ID")]
ProcessSlots = Annotated[str | None, _flag("worker.process_slots", "N")]
JobTimeout = Annotated[str | None, _flag("worker.job_timeout", "D")]
HeartbeatInterval = Annotated[str | None, _flag("worker.heartbeat_interval", "D")]
ShutdownTimeout = Annotated[str | None, _flag("worker.shutdown_timeout", "D")]
Health = Annotated[str | None, _flag("worker.health", "HOST:PORT")]
Metrics = Annotated[str | None, _flag("metrics.address", "HOST:PORT")]
LogFormat = Annotated[str | None, _flag("log.format", "text|json", known=FORMATS)]
LogLevel = Annotated[str | None, _flag("log.level", "LEVEL", known=LEVELS)]
Burst = Annotated[bool, typer.Option("--burst", help="Stop when nothing is left to do.")]
Reload = Annotated[bool, typer.Option("--reload", help="Start again when the code changes; for development.")]


class KeyFlags:
    """A set of such flags, each named as it is written."""

    def given(self) -> dict[str, str | None]:
        """By key of the config; None is not given."""
        keys = {key.flag.removeprefix("--").replace("-", "_"): key.name for key in BY_NAME.values() if key.flag}
        return {keys[name]: value for name, value in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class WorkerFlags(KeyFlags):
    """Those of `worker`: all that there are."""

    concurrency: Slots = None
    processes: Annotated[str | None, _flag("worker.processes", "N")] = None
    types: Annotated[str | None, _flag("worker.types", "A,B")] = None
    queues: Annotated[str | None, _flag("worker.queues", "A,B")] = None
    capabilities: Annotated[str | None, _flag("worker.capabilities", "A,B")] = None
    cpu: Annotated[str | None, _flag("worker.resources.cpu", "N")] = None
    memory: Annotated[str | None, _flag("worker.resources.memory", "SIZE")] = None
    gpu: Annotated[str | None, _flag("worker.resources.gpu", "N")] = None
    id: WorkerId = None
    process_slots: ProcessSlots = None
    job_timeout: JobTimeout = None
    max_jobs: Annotated[str | None, _flag("worker.max_jobs", "N")] = None
    max_memory: Annotated[str | None, _flag("worker.max_memory", "SIZE")] = None
    poll_interval: Annotated[str | None, _flag("worker.poll_interval", "D")] = None
    heartbeat_interval: HeartbeatInterval = None
    shutdown_timeout: ShutdownTimeout = None
    health: Health = None
    metrics: Metrics = None
    log_format: LogFormat = None
    log_level: LogLevel = None


@dataclass(frozen=True, kw_only=True)
class StartFlags(KeyFlags):
    """Those of `start`."""

    concurrency: Slots = None
    process_slots: ProcessSlots = None
    id: WorkerId = None
    job_timeout: JobTimeout = None
    shutdown_timeout: ShutdownTimeout = None
    health: Health = None
    metrics: Metrics = None
    log_format: LogFormat = None
    log_level: LogLevel = None


@dataclass(frozen=True, kw_only=True)
class CoordinatorFlags(KeyFlags):
    """Those of `coordinator`."""

    heartbeat_interval: HeartbeatInterval = None
    health: Health = None
    metrics: Metrics = None
    log_format: LogFormat = None
    log_level: LogLevel = None
