"""Watches the code below the current folder for `--reload`."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.domain.errors import ConfigError
from penstock.supervisor.wakeup import Wakeup

CONFIG_FILE = "penstock.toml"
NOT_CODE = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})

log = logging.getLogger("penstock.supervisor")


@contextmanager
def watched_code(wakeup: Wakeup) -> Iterator[None]:
    """For the duration of the block, tell the supervisor which Python files, or the config file, have changed."""
    try:
        from watchfiles import watch
    except ImportError:
        raise ConfigError("--reload needs the package watchfiles: pip install 'penstock[reload]'") from None
    folder, stop = os.getcwd(), threading.Event()

    def follow() -> None:
        try:
            for changes in watch(folder, watch_filter=None, stop_event=stop, raise_interrupt=False):
                for path in {os.path.relpath(path, folder) for _, path in changes}:
                    if is_code(path):
                        wakeup.tell(path)
        except OSError as error:
            log.error("cannot watch %s, so no change will be noticed: %s", folder, error)

    watcher = threading.Thread(target=follow, name="penstock-changes", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()


def is_code(path: str) -> bool:
    """Whether a change of this file, relative to the current folder, can change what a worker does."""
    *folders, name = path.split(os.sep)
    if any(part.startswith(".") or part in NOT_CODE for part in folders):
        return False
    return name == CONFIG_FILE or (name.endswith(".py") and not name.startswith("."))
