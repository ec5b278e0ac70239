"""`penstock workflows show`: one workflow as a tree, with how far each step is."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.guard import guarded
from penstock.cli.options import AsJson, StoreUrl

WorkflowId = Annotated[str, typer.Argument(metavar="ID", help="The workflow's id.", show_default=False)]


@guarded
def show_workflow(workflow_id: WorkflowId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Show a workflow as a tree: its steps, how far each is, and what waits for what.

    \b
    penstock workflows show 0198c0de-0000-8000-8000-000000000000 --store sqlite:///jobs.db
    """
    from penstock.cli.output import age, print_json, show
    from penstock.cli.storage import existing_store
    from penstock.cli.workflows.find import read_workflow
    from penstock.cli.workflows.tree import document, tree_of

    with existing_store(store) as opened:
        found = read_workflow(opened, workflow_id)
    if as_json:
        print_json(document(found))
        return
    show(tree_of(found))
    ended = "" if found.ended_at is None else f", ended {age(found.ended_at)}"
    made_by = "" if found.parent is None else f", by job {found.parent}"
    show(f"\n{found.id}: created {age(found.created_at)}{ended}{made_by}")
    show(f"its jobs: penstock jobs list --parent {found.id}")
