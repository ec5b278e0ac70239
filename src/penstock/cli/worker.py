"""`penstock worker`: runs one worker of an App until it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.guard import FAILED, discard_stdout, guarded
from penstock.cli.options import Target

if TYPE_CHECKING:
    from penstock.app import App

Slots = Annotated[
    int | None, typer.Option("--concurrency", "-c", metavar="N", help="Jobs at once in this process.  [default: 50]")
]
ShutdownTimeout = Annotated[
    str | None,
    typer.Option("--shutdown-timeout", metavar="D", help="How long running jobs may finish at a stop.  [default: 30s]"),
]
Burst = Annotated[bool, typer.Option("--burst", help="Stop when nothing is left to do.")]


@guarded
def worker(
    target: Target,
    concurrency: Slots = None,
    types: Annotated[
        str | None, typer.Option("--types", metavar="A,B", help="Only these job types.  [default: all declared]")
    ] = None,
    queues: Annotated[
        str | None, typer.Option("--queues", metavar="A,B", help="Only these queues.  [default: all]")
    ] = None,
    capabilities: Annotated[
        str | None, typer.Option("--capabilities", metavar="A,B", help="What it can do.  [default: general]")
    ] = None,
    worker_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="A name of its own.  [default: host-pid-random]")
    ] = None,
    poll_interval: Annotated[
        str | None, typer.Option("--poll-interval", metavar="D", help="Look for work this often.  [default: 100ms]")
    ] = None,
    heartbeat_interval: Annotated[
        str | None,
        typer.Option(
            "--heartbeat-interval", metavar="D", help="Sign of life; lost after three missed.  [default: 10s]"
        ),
    ] = None,
    shutdown_timeout: ShutdownTimeout = None,
    burst: Burst = False,
) -> None:
    """Run a worker until Ctrl-C or SIGTERM. A second signal stops at once; its jobs go back.

    \b
    penstock worker tasks:app
    penstock worker tasks:app --concurrency 10 --queues mail,reports
    penstock worker tasks:app --burst
    """
    run(
        target,
        concurrency=concurrency,
        types=types,
        queues=queues,
        capabilities=capabilities,
        worker_id=worker_id,
        poll_interval=poll_interval,
        heartbeat_interval=heartbeat_interval,
        shutdown_timeout=shutdown_timeout,
        burst=burst,
    )


def run(target: str, **settings: Any) -> None:
    """Load the app, say what will run, and run it to its end."""
    from penstock.cli.load import load_app
    from penstock.domain.errors import PenstockError
    from penstock.observe import logs
    from penstock.worker.settings import make_settings

    checked = make_settings(**settings)
    app = load_app(target)
    logs.configure()
    try:
        _banner(app, target, checked)
        _run_loop(app, {**settings, "worker_id": checked.worker_id})
    except PenstockError:
        raise
    except Exception:
        import logging

        logging.getLogger("penstock.worker").exception("the worker failed")
        raise typer.Exit(FAILED) from None
    finally:
        app.close()


def _banner(app: App, target: str, settings: Any) -> None:
    from importlib.metadata import version

    types = settings.types or sorted(declaration.name for declaration in app.registry)
    lines = [
        f"penstock {version('penstock')} worker {settings.worker_id}",
        f"  app           {target}",
        f"  store         {app.store.info.address}",
        f"  slots         {settings.concurrency}",
        f"  types         {', '.join(types)}",
        f"  queues        {', '.join(settings.queues) if settings.queues else 'all'}",
        f"  capabilities  {', '.join(settings.capabilities)}",
        "  stops when nothing is left" if settings.burst else "  Ctrl-C stops it in order; a second one at once",
    ]
    try:
        typer.echo("\n".join(lines))
    except BrokenPipeError:
        # Whoever read the log has gone; the jobs still want to be done.
        discard_stdout()


def _run_loop(app: App, settings: dict[str, Any]) -> None:
    import asyncio

    from penstock.cli.loop import new_event_loop

    runner = asyncio.Runner(loop_factory=new_event_loop)
    code = FAILED
    try:
        runner.run(app.run_worker(**settings))
        code = 0
    finally:
        if asyncio.all_tasks(runner.get_loop()):
            _leave_at_once(app, code)
        runner.close()


def _leave_at_once(app: App, code: int) -> None:
    """A handler ignores its cancellation and would keep this process for ever. Its job was given back; go."""
    import os
    import sys

    app.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
