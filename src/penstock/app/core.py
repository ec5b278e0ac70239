"""What every side of an App has: its store, its client, its declared jobs; how it begins and ends."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TypedDict, Unpack, cast

from penstock.client.client import Client, is_in_loop
from penstock.client.schedules.book import ScheduleBook
from penstock.client.stats import Stats
from penstock.config.load import Config, load
from penstock.coordinator.settings import Retention
from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError, UsageError
from penstock.domain.options import DEFAULTS, make_options
from penstock.domain.registry import Registry
from penstock.engines import open_store
from penstock.observe.events import Events
from penstock.observe.job_log import JobLog
from penstock.observe.observed import observed
from penstock.store.contract import History, SchedulePlan, Store
from penstock.store.refused import RefusedStore
from penstock.system.clock import SystemClock
from penstock.worker.settings import Lifespan, check_version, no_lifespan


class AppSettings(TypedDict, total=False):
    """What App() takes beside the store."""

    lifespan: Lifespan
    history: History | None
    retention: Retention | None
    clock: Clock | None
    version: str | None


class Core:
    """What the sides of an App stand on. Each of them adds methods and keeps nothing of its own."""

    def __init__(
        self,
        store: str | Store,
        *,
        lifespan: Lifespan = no_lifespan,
        history: History | None = None,
        retention: Retention | None = None,
        clock: Clock | None = None,
        version: str | None = None,
    ) -> None:
        if history not in ("all", "default", "failures", "none", None):
            raise ConfigError(f"history={history!r} does not exist; use one of: all, default, failures, none")
        self._clock = clock or SystemClock()
        self._events = Events(JobLog())
        opened = open_store(store, clock=clock, random=random.random) if isinstance(store, str) else store
        self._store = observed(opened, self._events)
        self.lifespan = lifespan
        if version is not None:
            check_version(version, "version")
        self._own = {"history": history, "retention": retention, "app_version": version}
        self._defaults = DEFAULTS
        self.config: Config | None = None
        self.registry = Registry()
        self.client = Client(lambda: self._store, self.registry, self._clock)
        self.schedules = ScheduleBook(self.client)
        """The schedules of the store: add, list, get, pause, resume, reschedule, remove, run."""
        self.stats = Stats(self.client)
        """Figures of what happened and samples of what waits: capacity, history, sample."""
        self._planned: dict[str, SchedulePlan] = {}

    @classmethod
    def from_config(cls, path: str | os.PathLike[str] | None = None, **settings: Unpack[AppSettings]) -> Self:
        """An App as penstock.toml (or the file at `path`, or at PENSTOCK_CONFIG) and the environment describe it.

        The store, the history, the retention, the time-to-live in the queue and the settings of run_worker().
        What is given here or to run_worker() comes first.
        """
        config = load(path)
        app = cls(config.store(), **settings)
        app.config = config
        app._defaults = make_options(ttl=config["queue.ttl"])
        app.client.use_limits(config.limits() or ())
        app.client.use_failing_queues(config["queue.fail_without_worker"] or ())
        return app

    @property
    def store(self) -> Store:
        """The job store, for tools. Applications use the methods of this class."""
        return self._store

    def withhold_store(self, why: str) -> None:
        """Every use of the store through this app is an error from now on, which says why: in a process that only runs
        handlers, for a worker whose store it must not open.
        """
        self._store = cast(Store, RefusedStore(why))

    @contextmanager
    def _in_place(self, store: Store, clock: Clock) -> Iterator[None]:
        """Another store and clock for the length of a block: how penstock.testing keeps tests off the real jobs."""
        before = self._store, self._clock
        self._store, self._clock = observed(store, self._events), clock
        self.client.use_clock(clock)
        try:
            yield
        finally:
            self._store, self._clock = before
            self.client.use_clock(self._clock)

    def close(self) -> None:
        """Close the store, as `with app` and `async with app` do. Jobs that were enqueued are safe in it."""
        self._store.close()

    def __enter__(self) -> Self:
        if is_in_loop():
            raise UsageError("`with app` was used inside a running event loop, which it would block: use `async with`")
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self.close)  # What this loop has under way in the store is finished by this loop.
