"""`penstock queues …`: what waits and runs in each queue; pause, resume and drain them."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.queues.drain import drain_queues
from penstock.cli.queues.list import list_queues
from penstock.cli.queues.pause import pause_queues, resume_queues

queues = typer.Typer(add_completion=False, invoke_without_command=True, **{**SETTINGS, "no_args_is_help": False})
queues.callback()(list_queues)
queues.command("pause")(pause_queues)
queues.command("resume")(resume_queues)
queues.command("drain")(drain_queues)
