"""`penstock dead …`: the jobs that will not be tried again by themselves."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.dead.list import list_dead
from penstock.cli.dead.purge import purge_dead
from penstock.cli.dead.retry import retry_dead
from penstock.cli.dead.show import show_dead

dead = typer.Typer(
    help="Dead letters: jobs that will not be tried again by themselves.", add_completion=False, **SETTINGS
)
dead.command("list")(list_dead)
dead.command("show")(show_dead)
dead.command("retry")(retry_dead)
dead.command("purge")(purge_dead)
