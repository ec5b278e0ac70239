"""Registers whoever starts, also in the place of one with its id that is gone: nobody has to wait until that one is
stale (R9).
"""

from __future__ import annotations

import logging
import socket

import msgspec

from penstock.domain.errors import WorkerRefused
from penstock.observe.logs import fields
from penstock.store.contract import RegisterWorker, Store
from penstock.worker.liveness.identity import is_gone

log = logging.getLogger("penstock.worker")


async def register(store: Store, newcomer: RegisterWorker) -> int:
    """Its session. One whose id is in use by a process that runs is refused."""
    try:
        return (await store.register_worker(newcomer)).session
    except WorkerRefused:
        gone = await _gone_before(store, newcomer.worker_id)
        if gone is None:
            raise
        log.warning("the process that was worker %s is gone: its jobs are recovered", newcomer.worker_id,
                    extra=fields("worker.replaced", worker_id=newcomer.worker_id))  # fmt: skip
        return (await store.register_worker(msgspec.structs.replace(newcomer, replaces=gone))).session


async def _gone_before(store: Store, worker_id: str) -> int | None:
    """The session of a registered worker with this id whose process runs no more, on this machine."""
    for one in await store.list_workers():
        registered = one.status in ("active", "draining") or one.failing
        if registered and one.id == worker_id and one.host == socket.gethostname() and is_gone(one.process):
            return one.session
    return None
