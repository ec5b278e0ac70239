"""How a worker runs: every value with its unit and default."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.client.schedules.installing import Configured
from penstock.coordinator.settings import CoordinatorSettings, Retention
from penstock.domain.duration import Duration, parse_duration, parse_size
from penstock.domain.errors import ConfigError
from penstock.domain.flow.fair_shares import read_weights
from penstock.domain.flow.gates import Limit
from penstock.domain.flow.slots import SLOTS_MAX
from penstock.domain.options import DEFAULT_CAPABILITY, Resources, check_name
from penstock.domain.texts import brief
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.health import Limits
from penstock.observe.metrics.catalogue import PREFIX
from penstock.store.contract import STALE_HEARTBEATS, History
from penstock.worker.liveness.health_address import ANYWHERE, OFF, check_health

CONCURRENCY = 50
VERSION_CHARS_MAX = 100
PROCESS_SLOTS_MAX = 1_000
MEMORY_BYTES_MIN = 64 * 2**20
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")

_duties = CoordinatorSettings()

Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
Check = Callable[[Any, str], Any]


@asynccontextmanager
async def no_lifespan() -> AsyncIterator[None]:
    """Resources of an app that declares none."""
    yield None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    concurrency: int = CONCURRENCY
    types: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] = (DEFAULT_CAPABILITY,)
    resources: Resources | None = None
    worker_id: str = ""
    app_version: str | None = None
    """Of the program whose handlers it runs; stored with each attempt."""
    poll_interval: float = 0.1
    heartbeat_interval: float = 10.0
    shutdown_timeout: float = 30.0
    job_timeout: float | None = None
    process_slots: int = field(default_factory=lambda: cores())
    """How many jobs of process handlers run at once, each in a child process of its own."""
    max_jobs: int | None = None
    """A process (the worker, or a child) is replaced after this many jobs; None never."""
    max_memory: int | None = None
    """A process is replaced when it holds more than this many bytes (resident); None never."""
    health: str = ANYWHERE
    """Where health is served over HTTP: HOST:PORT, or off."""
    health_limits: Limits = Limits()
    metrics: str = OFF
    """Where metrics are served by themselves: HOST:PORT, or off; they are beside the health in any case."""
    metrics_prefix: str = PREFIX
    metrics_channel: int | None = None
    """The number of the socket on which a supervisor asks for them."""
    log_payloads: bool = False
    burst: bool = False
    history: History = "default"
    coordinates: bool = True
    """Whether it asks for the lead, and does the duties for all while it has it."""
    recovery_interval: float = _duties.recovery_interval
    start_timeout: float = _duties.start_timeout
    start_check_interval: float = _duties.start_check_interval
    probe_interval: float = _duties.probe_interval
    prune_interval: float = _duties.prune_interval
    schedule_interval: float = _duties.schedule_interval
    sample_interval: float = _duties.sample_interval
    fold_interval: float = _duties.fold_interval
    leader_lease: float = _duties.lease
    ageing: float | None = None
    """A job that was due for n times this long has at least the priority n; None never raises one."""
    alerts: AlertSettings = field(default_factory=AlertSettings)
    """What is wrong by which rule, and who is told."""
    failing_queues: tuple[str, ...] = ()
    """Queues whose jobs fail while no live worker can run them."""
    limits: tuple[Limit, ...] | None = None
    """What the config says of keys, whatever the code says; None leaves what others have set."""
    tenant_weights: Mapping[str, int] = field(default_factory=dict)
    """How many turns in a row a tenant has in each queue; one that is not named has one."""
    retention: Retention = field(default_factory=Retention)
    schedules: tuple[Configured, ...] = ()
    """Those of the config, to be installed when the worker starts."""

    @property
    def stale_after(self) -> float:
        """A worker is lost when it was not heard of for this long."""
        return self.heartbeat_interval * STALE_HEARTBEATS

    @property
    def coordinator(self) -> CoordinatorSettings:
        """How this worker does the duties for all, if it leads."""
        alike = CoordinatorSettings.__dataclass_fields__.keys() - {"lease"}
        return CoordinatorSettings(lease=self.leader_lease, **{name: getattr(self, name) for name in alike})


def make_settings(**given: Any) -> WorkerSettings:
    """Checked settings from what a person wrote; None means the default."""
    values = {name: value for name, value in given.items() if value is not None}
    known = WorkerSettings.__dataclass_fields__
    for name in values:
        if name not in known:
            raise ConfigError(f"setting {brief(name)} does not exist; the settings of a worker are: {', '.join(known)}")
    values |= {name: check(values[name], name) for name, check in CHECKS.items() if name in values}
    values.setdefault("process_slots", min(cores(), values.get("concurrency", CONCURRENCY)))
    values.setdefault("worker_id", default_worker_id())
    return WorkerSettings(**values)


def default_worker_id() -> str:
    import secrets
    import socket

    host = "".join(c if c.isalnum() or c in "-." else "-" for c in socket.gethostname()) or "host"
    return f"{host[:100]}-{os.getpid()}-{secrets.token_hex(4)}"


def _positive(value: Duration, name: str) -> float:
    seconds = parse_duration(value, name)
    if seconds <= 0:
        raise ConfigError(f"{name}={brief(value)} is not possible: more than zero")
    return seconds


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def whole(low: int, high: int) -> Check:
    """The check of a whole number within these bounds."""

    def check(value: object, name: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(f"{name}={brief(value)} is not possible: a whole number from {low} to {high}")
        return value

    return check


def _memory(value: str | int, name: str) -> int:
    size = parse_size(value, name)
    if size < MEMORY_BYTES_MIN:
        raise ConfigError(f"{name}={brief(value)} is too little for any Python process: at least 64Mi")
    return size


def _names(value: object, name: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable):
        raise ConfigError(f"{name}={brief(value)} is not a list of names: write it like 'a,b' or ['a', 'b']")
    names = tuple(check_name(part.strip() if isinstance(part, str) else part, name) for part in parts)
    if not names:
        raise ConfigError(f"{name} is empty: name at least one, or leave it out for the default")
    return names


def _resources(value: object, name: str) -> Resources:
    if isinstance(value, Resources):
        return value
    raise ConfigError(f"{name}={brief(value)} is not possible: write Resources(cpu=4, memory='8Gi')")


def _alerts(value: object, name: str) -> AlertSettings:
    if isinstance(value, AlertSettings):
        return value
    raise ConfigError(f"{name}={brief(value)} is not possible: write [alerts] in penstock.toml")


def check_version(value: object, name: str) -> str:
    """A version as programs write them: a number, a tag, a hash."""
    if not isinstance(value, str) or not value.strip() or len(value) > VERSION_CHARS_MAX or not value.isprintable():
        raise ConfigError(
            f"{name}={brief(value)} is not possible: write a version, such as '1.4.2' or a commit's hash, of at most "
            f"{VERSION_CHARS_MAX} characters"
        )
    return value.strip()


def _prefix(value: object, name: str) -> str:
    if not isinstance(value, str) or not _PREFIX.fullmatch(value):
        raise ConfigError(
            f"{name}={brief(value)} is not possible: write at most 40 letters, digits and _, no digit first, "
            "such as penstock_"
        )
    return value


CHECKS: dict[str, Check] = {
    "concurrency": whole(1, SLOTS_MAX),
    "types": _names,
    "queues": _names,
    "capabilities": _names,
    "resources": _resources,
    "worker_id": check_name,
    "app_version": check_version,
    "poll_interval": _positive,
    "heartbeat_interval": _positive,
    "recovery_interval": _positive,
    "start_timeout": _positive,
    "start_check_interval": _positive,
    "probe_interval": _positive,
    "leader_lease": _positive,
    "failing_queues": _names,
    "ageing": _positive,
    "alerts": _alerts,
    "tenant_weights": read_weights,
    "shutdown_timeout": parse_duration,
    "health": check_health,
    "metrics": check_health,
    "metrics_prefix": _prefix,
    "job_timeout": _positive,
    "process_slots": whole(1, PROCESS_SLOTS_MAX),
    "max_jobs": whole(1, 10**12),
    "max_memory": _memory,
}
"""What each setting takes: (what a person wrote, the name to blame) → the value in plain units."""
