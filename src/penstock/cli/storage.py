"""The store that a command without an App works on: named by --store or by the config, and never made by accident."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.domain.errors import StoreMissing, UnknownJob

if TYPE_CHECKING:
    from penstock.domain.job import Job
    from penstock.store.contract import Store

MAYBE_REMOVED = "retention may have removed it"


def required(url: str | None) -> str:
    """The address given by --store, else that of the config."""
    if url:
        return url
    from penstock.config.load import load

    return load().store()


@contextmanager
def existing_store(url: str | None) -> Iterator[Store]:
    """The store behind the URL, closed at the end. One that does not exist is an error, also in a file of others."""
    from penstock.store.open import open_store

    address = required(url)
    store = open_store(address, create=False)
    try:
        yield found(store, address)
    finally:
        store.close()


def found(store: Store, address: str) -> Store:
    """The store at this address if there is one."""
    if store.migration_status().current == 0:
        raise StoreMissing(
            f"there is no store at {store.address}; {where(address)}, or make one with: {migrate_command(address)}"
        )
    return store


def where(address: str) -> str:
    """What to look at when there is nothing at an address."""
    from penstock.store.open import SqliteAddress, parse_address

    if isinstance(parse_address(address), SqliteAddress):
        return "check the path (a relative one starts at the current folder)"
    return "check the database and the schema that the address names"


def migrate_command(address: str) -> str:
    """The command that makes the store at an address, without a secret in it."""
    from shlex import quote

    from penstock.store.open import parse_address

    return f"penstock migrate --store {quote(parse_address(address).shown)}"


def read_job(store: Store, job_id: str) -> Job:
    """The job, or an error that says that there is none."""
    from penstock.domain.ids import check_id
    from penstock.domain.workflows import is_workflow

    id_ = check_id(job_id)
    job = store.read_job(id_).wait()
    if job is not None:
        return job
    # A job may have any UUID that its sender gave it, so its id alone does not say that it is a workflow's.
    why = f"it looks like that of a workflow: penstock workflows show {id_}" if is_workflow(id_) else MAYBE_REMOVED
    raise UnknownJob(f"no job has the id {id_} in {store.address}; {why}")
