"""`penstock schedules …`: what is enqueued by the clock; add, pause, change, remove and run it."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.schedules.add import add_schedule
from penstock.cli.schedules.change import reschedule_schedule
from penstock.cli.schedules.list import list_schedules
from penstock.cli.schedules.show import show_schedule
from penstock.cli.schedules.switch import pause_schedules, remove_schedules, resume_schedules, run_schedule

schedules = typer.Typer(
    help="List schedules, add, pause, change, remove and run them.", add_completion=False, **SETTINGS
)
schedules.command("list")(list_schedules)
schedules.command("add")(add_schedule)
schedules.command("show")(show_schedule)
schedules.command("pause")(pause_schedules)
schedules.command("resume")(resume_schedules)
schedules.command("reschedule")(reschedule_schedule)
schedules.command("remove")(remove_schedules)
schedules.command("run")(run_schedule)
