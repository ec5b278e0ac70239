"""`penstock migrate`: makes a store, or brings its tables to this version."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import required
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import guarded
from penstock.domain.errors import UsageError
from penstock.program.codes import FAILED

if TYPE_CHECKING:
    from penstock.store.contract import MigrationStatus, Store


@guarded
def migrate(
    status: Annotated[
        bool, typer.Option("--status", help="Only say what is there; ends with 1 when something is pending.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the SQL that would be run, for an administrator to run it.")
    ] = False,
    grants: Annotated[
        str | None,
        typer.Option(
            "--grants",
            metavar="ROLE",
            help="Only print the GRANTs that a role of workers and clients needs (PostgreSQL).",
        ),
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Make a store, or bring an old one to this version. Safe to run by many at once.

    \b
    penstock migrate --store sqlite:///jobs.db
    penstock migrate --status
    penstock migrate --dry-run --store postgresql://owner@host/database | psql …
    penstock migrate --grants shop_worker --store postgresql://host/database
    """
    from penstock.engines import open_store

    address = required(store)
    if [status, dry_run, grants is not None].count(True) > 1:
        raise UsageError("--status, --dry-run and --grants are three commands: give one of them")
    if grants is not None:
        _print_grants(address, grants, as_json)
        return
    with closing(open_store(address, create=not (status or dry_run))) as opened:
        if status:
            _print_status(opened, as_json)
        elif dry_run:
            _print_sql(opened, as_json)
        else:
            _migrate(opened, as_json)


def _migrate(store: Store, as_json: bool) -> None:
    before = store.migrate()
    if as_json:
        print_json(_document(store, before, current=before.latest, pending=[], applied=before.pending))
    else:
        _print_steps(store, before, "applied", "nothing to do")


def _print_status(store: Store, as_json: bool) -> None:
    found = store.migration_status()
    if as_json:
        print_json(_document(store, found))
    else:
        _print_steps(store, found, "pending", "up to date")
    if found.pending:
        raise typer.Exit(FAILED)


def _print_steps(store: Store, found: MigrationStatus, word: str, none: str) -> None:
    say(f"store    {store.address}\nversion  {found.current}, the latest is {found.latest}")
    for name in found.pending:
        say(f"{word}  {name}")
    if not found.pending:
        say(none)


def _print_sql(store: Store, as_json: bool) -> None:
    """Valid SQL with comments; what is said to people is in comments too, so that all of it can be piped."""
    found = store.migration_status()
    text = store.migration_script() if found.pending else ""
    if as_json:
        print_json(_document(store, found) | {"sql": text})
        return
    say(f"-- {store.address}\n-- version {found.current}, the latest is {found.latest}")
    say(text.rstrip("\n") if found.pending else "-- nothing to do")


def _print_grants(address: str, role: str, as_json: bool) -> None:
    from penstock.engines import grants, parse_address

    text = grants(address, role)
    if as_json:
        print_json({"store": parse_address(address).shown, "role": role, "sql": text})
    else:
        say(text.rstrip("\n"))


def _document(store: Store, found: MigrationStatus, **changed: object) -> dict[str, object]:
    return {"store": store.address, "before": found.current, "current": found.current, "latest": found.latest,
            "pending": found.pending, "applied": [], **changed}  # fmt: skip
