"""`penstock workflows …`: graphs of jobs, as a whole: list, show as a tree, cancel, retry."""

import typer

from penstock.cli.commands import SETTINGS
from penstock.cli.workflows.list import list_workflows
from penstock.cli.workflows.orders import cancel_workflow, retry_workflow
from penstock.cli.workflows.show import show_workflow

HELP = """Graphs of jobs: list, show as a tree, cancel, retry.

\b
penstock workflows list --state failed
penstock workflows show 0198c0de-0000-8000-8000-000000000000
penstock workflows retry 0198c0de-0000-8000-8000-000000000000
"""

workflows = typer.Typer(add_completion=False, help=HELP, **SETTINGS)
workflows.command("list")(list_workflows)
workflows.command("show")(show_workflow)
workflows.command("cancel")(cancel_workflow)
workflows.command("retry")(retry_workflow)
