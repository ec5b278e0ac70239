"""How a worker runs: every value with its unit and default."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.options import DEFAULT_CAPABILITY, Resources, check_name
from penstock.store.params import History

STALE_HEARTBEATS = 3
CONCURRENCY_MAX = 10_000

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def no_lifespan() -> AsyncIterator[None]:
    """Resources of an app that declares none."""
    yield None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long ended jobs are kept, in seconds; None keeps them until a person purges them."""

    completed: float = 7 * 86400.0
    cancelled: float = 7 * 86400.0
    dead: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    concurrency: int = 50
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = (DEFAULT_CAPABILITY,)
    resources: Resources | None = None
    worker_id: str = ""
    poll_interval: float = 0.1
    heartbeat_interval: float = 10.0
    recovery_interval: float = 5.0
    prune_interval: float = 60.0
    shutdown_timeout: float = 30.0
    job_timeout: float | None = None
    burst: bool = False
    history: History = "default"
    retention: Retention = field(default_factory=Retention)

    @property
    def stale_after(self) -> float:
        """A worker is lost when it was not heard of for this long."""
        return self.heartbeat_interval * STALE_HEARTBEATS


def make_settings(**given: Any) -> WorkerSettings:
    """Checked settings from what a person wrote; None means the default."""
    values = {name: value for name, value in given.items() if value is not None}
    known = WorkerSettings.__dataclass_fields__
    for name in values:
        if name not in known:
            raise ConfigError(f"setting {name!r} does not exist; the settings of a worker are: {', '.join(known)}")
    for name in ("poll_interval", "heartbeat_interval", "recovery_interval", "shutdown_timeout", "job_timeout"):
        if name in values:
            values[name] = _positive(values[name], name, zero=name == "shutdown_timeout")
    for name in ("types", "queues", "capabilities"):
        if name in values:
            values[name] = _names(values[name], name)
    concurrency = values.get("concurrency", 50)
    if not isinstance(concurrency, int) or not 1 <= concurrency <= CONCURRENCY_MAX:
        raise ConfigError(f"concurrency={concurrency!r} is not possible: a whole number from 1 to {CONCURRENCY_MAX}")
    values["worker_id"] = check_name(values.get("worker_id") or default_worker_id(), "worker id")
    return WorkerSettings(**values)


def default_worker_id() -> str:
    import secrets
    import socket

    host = "".join(c if c.isalnum() or c in "-." else "-" for c in socket.gethostname()) or "host"
    return f"{host[:100]}-{os.getpid()}-{secrets.token_hex(4)}"


def _positive(value: Duration, name: str, zero: bool) -> float:
    seconds = parse_duration(value, name)
    if seconds <= 0 and not zero:
        raise ConfigError(f"{name}={value!r} is not possible: more than zero")
    return seconds


def _names(value: str | tuple[str, ...] | list[str], name: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    names = tuple(check_name(part.strip(), name) for part in parts)
    if not names:
        raise ConfigError(f"{name} is empty: name at least one, or leave it out for the default")
    return names
