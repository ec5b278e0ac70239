"""`penstock workers …`: who runs jobs; drain a worker, or give it other slots, while it runs."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.workers.list import list_workers
from penstock.cli.workers.orders import drain_worker, resize_worker

workers = typer.Typer(add_completion=False, invoke_without_command=True, **{**SETTINGS, "no_args_is_help": False})
workers.callback()(list_workers)
workers.command("drain")(drain_worker)
workers.command("resize")(resize_worker)
