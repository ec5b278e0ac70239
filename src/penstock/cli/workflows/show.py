"""`penstock workflows show`: one workflow as a tree, with how far each step is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import age, print_json, show, state_text
from penstock.cli.running.guard import guarded
from penstock.cli.workflows.find import read_compensation, read_workflow
from penstock.cli.workflows.tree import STEPS_SHOWN, document, tree_of

if TYPE_CHECKING:
    from penstock.domain.job import Job
    from penstock.domain.workflows import WorkflowInfo

LIMIT_MAX = 10_000

WorkflowId = Annotated[str, typer.Argument(metavar="ID", help="The workflow's id.", show_default=False)]


@guarded
def show_workflow(
    workflow_id: WorkflowId,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=LIMIT_MAX, help="Steps of the tree.")
    ] = STEPS_SHOWN,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Show a workflow as a tree: its steps, how far each is, and what waits for what.

    A step below another, with an arrow, comes after it; where several do, they are branches of it. JSON has all steps.

    \b
    penstock workflows show 0198c0de-0000-8000-8000-000000000000 --store sqlite:///jobs.db
    penstock workflows show 0198c0de-0000-8000-8000-000000000000 --limit 1000
    """
    with existing_store(store) as opened:
        found = read_workflow(opened, workflow_id)
        compensation = read_compensation(opened, found)
    if as_json:
        print_json({**document(found), "compensation": _named(compensation)})
        return
    show(tree_of(found, limit))
    _print_facts(found, compensation)


def _named(job: Job | None) -> dict[str, str] | None:
    return None if job is None else {"id": job.id, "type": job.type, "state": job.state}


def _print_facts(found: WorkflowInfo, compensation: Job | None) -> None:
    from rich.text import Text

    if compensation is not None:
        show(
            Text.assemble(
                f"\ncompensation: {compensation.type} ", state_text(compensation.state), f"  {compensation.id}"
            )
        )
    ended = "" if found.ended_at is None else f", ended {age(found.ended_at)}"
    made_by = "" if found.parent is None else f", by job {found.parent}"
    show(f"\n{found.id}: created {age(found.created_at)}{ended}{made_by}")
    show(f"its jobs: penstock jobs list --parent {found.id}")
