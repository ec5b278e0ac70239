"""Whether the worker that had this one's id before is gone, so that nobody has to wait until it is stale (SPEC R9)."""

from __future__ import annotations

import socket

from penstock.store.contract import Store
from penstock.worker.identity import is_gone


async def gone_before(store: Store, worker_id: str) -> int | None:
    """The session of a registered worker with this id whose process runs no more, on this machine."""
    for one in await store.list_workers():
        registered = one.status in ("active", "draining") or one.failing
        if registered and one.id == worker_id and one.host == socket.gethostname() and is_gone(one.process):
            return one.session
    return None
