"""`penstock migrate`: makes a store, or brings its tables to this version."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.guard import guarded
from penstock.cli.options import AsJson, StoreUrl


@guarded
def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Make a store, or bring an old one to this version. Safe to run by many at once.

    \b
    penstock migrate --store sqlite:///jobs.db
    penstock migrate --dry-run
    """
    from penstock.cli.output import print_json
    from penstock.cli.storage import place, required
    from penstock.store.open import open_store

    opened = open_store(required(store), create=not dry_run)
    try:
        before = opened.migration_status() if dry_run else opened.migrate()
        address = place(opened, required(store))
    finally:
        opened.close()
    applied = [] if dry_run else before.pending
    current = before.current if dry_run else before.latest
    if as_json:
        print_json({"store": address, "before": before.current, "current": current, "latest": before.latest,
                    "pending": before.pending if dry_run else [], "applied": applied})  # fmt: skip
        return
    typer.echo(f"store    {address}\nversion  {before.current}, the latest is {before.latest}")
    for name in before.pending:
        typer.echo(f"{'would apply' if dry_run else 'applied'}  {name}")
    if not before.pending:
        typer.echo("nothing to do")
