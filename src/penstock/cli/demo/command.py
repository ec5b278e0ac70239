"""The command itself: a folder of its own, the tour, and nothing left behind."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.guard import INTERRUPTED, guarded


@guarded
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, to look at it with other commands.")] = False,
) -> None:
    """A tour of about ten seconds: jobs run, fail, are retried, die and are counted. Ends by itself.

    The store is a file in a temporary folder, removed at the end unless --keep is given.

    \b
    penstock demo
    penstock demo --keep
    """
    import asyncio
    import logging
    import shutil
    import tempfile

    from penstock.cli.demo.summary import print_summary
    from penstock.cli.demo.tour import Tour

    # The screen tells what happens; the worker's log would only get in its way.
    logging.getLogger("penstock").addHandler(logging.NullHandler())
    folder = tempfile.mkdtemp(prefix="penstock-demo-")
    try:
        tour = Tour(folder)
        try:
            finished = asyncio.run(tour.run())
            if finished:
                print_summary(tour, kept=keep)
        finally:
            tour.app.close()
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    typer.echo(f"the store is kept in {folder}" if keep else f"the store in {folder} was removed")
    if not finished:
        raise typer.Exit(INTERRUPTED)
