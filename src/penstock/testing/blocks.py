"""The blocks that put an app into a private world: a throw-away store, and fake time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from tempfile import TemporaryDirectory
from typing import cast
from urllib.parse import quote

from penstock.app import App
from penstock.client.schedules.installing import install_steps
from penstock.client.steps import waited
from penstock.domain.errors import ConfigError
from penstock.engines import open_store
from penstock.store.contract import Store
from penstock.testing.clock import FakeClock
from penstock.testing.jobs import Sandbox
from penstock.testing.watched import WatchedStore


@contextmanager
def sandbox(app: App, *, clock: FakeClock | None = None) -> Iterator[Sandbox]:
    """The app on a private, empty store and on fake time, for the length of the block. Its own store is not touched."""
    if not isinstance(app, App):
        raise ConfigError(f"sandbox() takes a penstock.App, not {type(app).__name__}: sandbox(app)")
    clock = clock or FakeClock()
    with TemporaryDirectory(prefix="penstock-sandbox-", ignore_cleanup_errors=True) as folder:
        address = f"sqlite:///{quote(folder)}/jobs.db?synchronous=normal"
        with closing(open_store(address, clock=clock, random=random.random)) as store:
            watched = WatchedStore(store, clock)
            made = Sandbox(app, watched, clock)
            _open.append(made)
            try:
                with app._in_place(cast(Store, watched), clock):
                    waited(install_steps(store, app._planned))
                    yield made
            finally:
                _open.remove(made)


@contextmanager
def inline(app: App, *, strict: bool = True) -> Iterator[Sandbox]:
    """A sandbox in which every enqueue runs its job to the end before it returns. Joins a sandbox that is open."""
    opened = next((made for made in reversed(_open) if made.app is app), None)
    with nullcontext(opened) if opened is not None else sandbox(app) as made, made.inline(strict=strict):
        yield made


_open: list[Sandbox] = []
