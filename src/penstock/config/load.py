"""One frozen Config from defaults, penstock.toml, PENSTOCK_ variables and flags; the later wins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.config.file import File, read_file
from penstock.config.keys import (
    BY_NAME,
    BY_VARIABLE,
    CONFIG_VARIABLE,
    KEYS,
    PREFIX,
    Key,
    is_foreign,
    unknown,
)
from penstock.coordinator.settings import Retention
from penstock.domain.errors import ConfigError
from penstock.domain.failure.secrets import hide_secrets
from penstock.domain.flow.gates import Limit, limit_of
from penstock.domain.options import Concurrency, RateLimit, Resources
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.health import Limits
from penstock.worker.liveness.health_address import OFF

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key's value in plain units, and its source: `default`, the path of a file, a variable or a flag."""

    key: Key
    value: Any
    source: str

    @property
    def shown(self) -> str:
        return self.key.show(self.value)


@dataclass(frozen=True, slots=True)
class Config:
    """Every key with its value. `file` is the absolute path of the file that was read, if any."""

    settings: Mapping[str, Setting]
    file: str | None

    def __getitem__(self, name: str) -> Any:
        return self.settings[name].value

    def with_flags(self, flags: Mapping[str, object]) -> Config:
        """The same with what was given on a command line on top; None is not given."""
        given = [(name, value, BY_NAME[name].flag) for name, value in flags.items() if value is not None]
        return Config(
            {**self.settings, **{name: _read(name, value, flag, flag) for name, value, flag in given}}, self.file
        )

    def store(self) -> str:
        """The address of the store; one must be named."""
        address: str | None = self["store"]
        if address is None:
            read = self.file or "penstock.toml in the current folder"
            raise ConfigError(
                "which store? Give --store URL (such as sqlite:///jobs.db or postgresql://user@host/database), set "
                f'PENSTOCK_STORE, or write store = "sqlite:///jobs.db" in {read}'
            )
        return address

    def worker_settings(self) -> dict[str, Any]:
        """What make_settings() takes; None is its default."""
        named = ("types", "queues", "capabilities", "concurrency", "process_slots", "job_timeout", "max_jobs",
                 "max_memory", "poll_interval", "heartbeat_interval", "shutdown_timeout", "log_payloads")  # fmt: skip
        coordinating = ("recovery_interval", "start_timeout", "start_check_interval", "probe_interval")
        return {name: self[f"worker.{name}"] for name in named} | {
            "worker_id": self["worker.id"],
            "app_version": self["app.version"],
            "resources": self._resources(),
            **{name: self[f"coordinator.{name}"] for name in coordinating},
            "leader_lease": self["coordinator.lease"],
            "ageing": self["queue.ageing"],
            "failing_queues": self["queue.fail_without_worker"],
            "limits": self.limits(),
            "tenant_weights": self["tenant_weights"],
            "schedules": self["schedules"],
            "health": self["worker.health"] or OFF,
            "health_limits": self.health_limits(),
            "alerts": self.alerts(),
            "metrics": self["metrics.address"] or OFF,
            "metrics_prefix": self["metrics.prefix"],
            "history": self["history"],
            "retention": Retention(**{name: self[f"retention.{name}"] for name in ("completed", "cancelled", "dead")}),
        }

    def health_limits(self) -> Limits:
        """When the health of a store is no longer good."""
        return Limits(
            min_workers=self["health.min_workers"], dead_letter_threshold=self["health.dead_letter_threshold"]
        )

    def alerts(self) -> AlertSettings:
        """What is wrong by which rule, and who is told."""
        return AlertSettings(
            interval=self["alerts.interval"], sinks=self["alerts.sinks"] or (), rules=self["alerts.rules"],
            cap_per_hour=self["alerts.cap_per_hour"], heartbeat_url=self["alerts.heartbeat_url"],
            critical_types=self["critical_types"] or (),
        )  # fmt: skip

    def limits(self) -> tuple[Limit, ...] | None:
        """None where there is no config at all: then it has no say in what others have set."""
        rates: tuple[RateLimit, ...] | None = self["rate_limits"]
        at_once: tuple[Concurrency, ...] | None = self["concurrency_limits"]
        if rates is None and at_once is None and self.file is None:
            return None
        return (*map(limit_of, at_once or ()), *map(limit_of, rates or ()))

    def _resources(self) -> Resources | None:
        has = {name: self[f"worker.resources.{name}"] for name in ("cpu", "memory", "gpu")}
        named = {name: amount for name, amount in has.items() if amount is not None}
        return Resources(**named) if named else None


def load(path: str | os.PathLike[str] | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """The settings of this process. The file is `path`, else PENSTOCK_CONFIG, else penstock.toml if there is one."""
    if path:
        file = read_file(os.fspath(path), "config file")
    else:
        file = read_file(os.environ.get(CONFIG_VARIABLE) or None, CONFIG_VARIABLE)
    settings = {key.name: Setting(key, key.default, DEFAULT) for key in KEYS}
    if file is not None:
        settings |= {name: _read_from(file, name, value) for name, value in file.values()}
    settings |= {name: _read(name, value, source, source) for name, value, source in _from_environment(os.environ)}
    return Config(settings, file.path if file is not None else None).with_flags(flags or {})


def _read_from(file: File, name: str, value: object) -> Setting:
    """A table has the line of its first entry that is refused by itself, if there is one."""
    for key, entry in value.items() if isinstance(value, dict) else ():
        _read(name, {key: entry}, file.path, file.place(f"{name}.{key}"))
    return _read(name, value, file.path, file.place(name))


def _read(name: str, value: object, source: str, place: str) -> Setting:
    key = BY_NAME[name]
    try:
        return Setting(key, key.read(value), source)
    except ConfigError as error:
        raise ConfigError(f"{place}: {hide_secrets(str(error))}") from None


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Key, value and variable of what is set. An empty variable is not set."""
    for name, value in environment.items():
        if not name.startswith(PREFIX) or not value.strip():
            continue
        if name in BY_VARIABLE:
            yield BY_VARIABLE[name].name, value, name
        elif not is_foreign(name):
            raise ConfigError(f"the environment: {unknown(name, [*BY_VARIABLE, CONFIG_VARIABLE])}")
