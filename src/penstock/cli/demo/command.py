"""The command itself: a folder of its own, the tour, and nothing left behind."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output.say import say
from penstock.cli.running.guard import guarded
from penstock.program.codes import INTERRUPTED


@guarded
def demo(
    scene: Annotated[
        list[str] | None, typer.Option("--scene", help="Play only this scene; may be given several times.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the store, to look at it with other commands.")] = False,
) -> None:
    """A tour of about thirty seconds: jobs run, fail, are retried, killed, recovered and counted. Ends by itself.

    The store is a file in a temporary folder, removed at the end unless --keep is given.

    \b
    penstock demo
    penstock demo --scene killed
    penstock demo --keep
    """
    import asyncio
    import logging
    import os
    import shutil
    import tempfile

    from penstock.cli.demo.summary import print_summary

    # The screen tells what happens; the worker's log would only get in its way.
    logging.getLogger("penstock").addHandler(logging.NullHandler())
    folder = tempfile.mkdtemp(prefix="penstock-demo-")
    # Before the jobs are imported: here, in child processes and in the workers of the tour.
    os.environ["PENSTOCK_STORE"] = f"sqlite:///{folder}/jobs.db"
    try:
        from penstock.cli.demo.scenes import chosen
        from penstock.cli.demo.tour import Tour

        tour = Tour(chosen(scene))
        with tour.app:
            finished = asyncio.run(tour.run())
            if finished:
                print_summary(tour, kept=keep)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    say(f"the store is kept in {folder}" if keep else f"the store in {folder} was removed")
    if not finished:
        raise typer.Exit(INTERRUPTED)
