"""Where a benchmark writes: a new file on a real disk, removed afterwards."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.domain.errors import ConfigError
from penstock.store.disk import IN_MEMORY, file_system
from penstock.store.open import open_store


@contextmanager
def bench_store(address: str | None) -> Iterator[str]:
    """The address of a fresh store. A given one must not hold jobs; without one, a file in the current folder."""
    address = address or f"sqlite:///penstock-bench-{secrets.token_hex(4)}.db"
    path = open_store(address, create=False).address
    if os.path.exists(path):
        raise ConfigError(f"{path} exists: a benchmark needs a store of its own; name a file that does not exist yet")
    kind = file_system(os.path.dirname(path))
    if kind in IN_MEMORY:
        raise ConfigError(f"{path} is on {kind}, in memory, where syncs cost nothing: name a file on a real disk")
    try:
        yield address
    finally:
        for folder_entry in (path, f"{path}-wal", f"{path}-shm", f"{path}-lock"):
            if os.path.exists(folder_entry):
                os.remove(folder_entry)
