"""`penstock jobs …`: look at jobs, follow them, cancel them, retry them."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.jobs.cancel import cancel_job
from penstock.cli.jobs.list import list_jobs
from penstock.cli.jobs.retry import retry_job
from penstock.cli.jobs.show import show_job
from penstock.cli.jobs.watch import watch_job

jobs = typer.Typer(help="Look at jobs, follow them, cancel them, retry them.", add_completion=False, **SETTINGS)
jobs.command("list")(list_jobs)
jobs.command("show")(show_job)
jobs.command("cancel")(cancel_job)
jobs.command("retry")(retry_job)
jobs.command("watch")(watch_job)
