"""Running workers and coordinators in this process."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.app.core import Core
from penstock.client.schedules.installing import Configured, configured_plans, install
from penstock.domain.errors import ConfigError
from penstock.store.contract import SchedulePlan, Store
from penstock.worker.settings import WorkerSettings, make_settings

VERSION_VARIABLE = "PENSTOCK_APP_VERSION"

if TYPE_CHECKING:
    from penstock.worker.worker import Worker


class Running(Core):
    """The side of what runs jobs."""

    async def run_worker(self, *, on_start: Any = None, **settings: Any) -> bool:
        """Run a worker here until it is stopped by a signal, or, with burst=True, until nothing is left.

        Answers whether it ended because it should be replaced by a fresh process (max_jobs, max_memory). `on_start` is
        called when the store has taken it: an id that another worker has, for instance, is refused before.

        Settings: concurrency, types, queues, capabilities, resources, worker_id, poll_interval,
        heartbeat_interval, shutdown_timeout, job_timeout, process_slots, max_jobs,
        max_memory, health, metrics, metrics_prefix, log_payloads, burst; and for when it leads: recovery_interval,
        start_timeout, start_check_interval, probe_interval, leader_lease. Those not given are from the config of
        from_config().
        """
        from penstock.worker.liveness.signals import stop_on_signals

        worker = self._worker(self.config.worker_settings() if self.config else {}, settings)
        with stop_on_signals(worker.stop):
            return await worker.run(on_start)

    async def run_coordinator(self, *, on_start: Any = None, **settings: Any) -> None:
        """Do the duties for all here until stopped by a signal, and run no jobs. The store must exist.

        `on_start` is called when the store has taken it.
        Settings: worker_id, health, metrics, metrics_prefix, heartbeat_interval, and those of run_worker() for when it
        leads.
        """
        from penstock.worker.liveness.signals import stop_on_signals
        from penstock.worker.lone_coordinator import LoneCoordinator, refuse_others

        refuse_others(settings)
        configured = self.config.worker_settings() if self.config else {}
        checked = self._checked(configured | {"worker_id": None}, settings)  # The config names a worker, not this one.
        plans = self._plans(checked.schedules) if len(self.registry) else {}
        declared = {declaration.name: declaration.options for declaration in self.registry}
        prepare = partial(install, self._store, plans)
        coordinator = LoneCoordinator(self._store, checked, self._clock, prepare, declared, self._events)
        with stop_on_signals(coordinator.stop):
            await coordinator.run(on_start)

    def _worker(self, configured: dict[str, Any], settings: dict[str, Any], store: Store | None = None) -> Worker:
        from penstock.worker.served import ServedApp
        from penstock.worker.worker import Worker

        checked = self._checked(configured, settings)
        if checked.limits is not None:
            self.client.use_limits(checked.limits)
        plans = None if store is not None else self._plans(checked.schedules)
        app = ServedApp(store=store or self._store, registry=self.registry, client=self.client, lifespan=self.lifespan,
                        place=self._place, events=self._events)  # fmt: skip
        return Worker(app, checked, self._clock, prepare=(lambda: install(self._store, plans)) if plans else None)

    def _checked(self, configured: dict[str, Any], settings: dict[str, Any]) -> WorkerSettings:
        own = {name: value for name, value in self._own.items() if value is not None}
        if self.config is None:
            configured = configured | {"app_version": os.environ.get(VERSION_VARIABLE) or None}
        return make_settings(**{**configured, **own, **settings})

    def _plans(self, configured: tuple[Configured, ...]) -> dict[str, SchedulePlan]:
        """All schedules that are declared, here and in the config."""
        for name in [one.name for one in configured if one.name in self._planned]:
            raise ConfigError(f"two schedules are declared as {name!r}, in the code and in the config; leave one")
        return self._planned | configured_plans(configured, self.client, self.registry)

    def _place(self) -> tuple[str, str]:
        """The module and the name under which a child process can import this app: rather where its handlers are,
        which are imported anyway, than in a program that uses it.
        """
        handlers = [declaration.function.__module__ for declaration in self.registry if declaration.runner == "process"]
        for module in (*handlers, *sys.modules):
            values = getattr(sys.modules.get(module), "__dict__", {}) if module != "__main__" else {}
            for name, value in list(values.items()):
                if value is self:
                    return module, name
        raise ConfigError(
            "child processes cannot import this app: process handlers need an App that is a variable at the top level "
            "of a module, other than the script that was started"
        )
