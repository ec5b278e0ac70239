"""The store that a command without an App works on: named by --store or by the config, and never made by accident."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from penstock.domain.errors import StoreMissing, UnknownJob
from penstock.domain.ids import check_id

if TYPE_CHECKING:
    from penstock.app import App
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
    """The store behind the URL, closed at the end. One that does not exist is an error, also in a file of others.

    What a command does to jobs is observed as what a program does.
    """
    from penstock.observe.events import Events
    from penstock.observe.job_log import JobLog
    from penstock.observe.observed import observed

    with _opened(url) as store:
        yield observed(store, Events(JobLog()))


@contextmanager
def _opened(url: str | None) -> Iterator[Store]:
    from penstock.engines import open_store

    address = required(url)
    logging.getLogger("penstock.job").addHandler(logging.NullHandler())  # A command says itself what it has done.
    with closing(open_store(address, create=False)) as store:
        yield found(store, address)


@contextmanager
def app_on(url: str | None) -> Iterator[App]:
    """An App on such a store, with the limits that its workers know: for jobs by name, which need no handlers here."""
    from penstock.app import App

    with _opened(url) as opened:
        app = App(opened)
        app.client.use_limits(opened.read_limits().wait())
        yield app


def found(store: Store, address: str) -> Store:
    """The store at this address if there is one."""
    if store.migration_status().current == 0:
        raise StoreMissing(
            f"there is no store at {store.address}; {where(address)}, or make one with: {migrate_command(address)}"
        )
    return store


def where(address: str) -> str:
    """What to look at when there is nothing at an address."""
    from penstock.engines import SqliteAddress, parse_address

    if isinstance(parse_address(address), SqliteAddress):
        return "check the path (a relative one starts at the current folder)"
    return "check the database and the schema that the address names"


def migrate_command(address: str) -> str:
    """The command that makes the store at an address, without a secret in it."""
    from shlex import quote

    from penstock.engines import parse_address

    return f"penstock migrate --store {quote(parse_address(address).shown)}"


def read_job(store: Store, job_id: str) -> Job:
    """The job, or an error that says that there is none."""
    from penstock.domain.workflows import is_workflow

    id_ = check_id(job_id)
    job = store.read_job(id_).wait()
    if job is not None:
        return job
    # A job may have any UUID that its sender gave it, so its id alone does not say that it is a workflow's.
    why = f"it looks like that of a workflow: penstock workflows show {id_}" if is_workflow(id_) else MAYBE_REMOVED
    raise UnknownJob(f"no job has the id {id_} in {store.address}; {why}")
