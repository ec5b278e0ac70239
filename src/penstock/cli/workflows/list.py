"""`penstock workflows list`: a page of workflows, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import age, plural, print_json, show, table
from penstock.cli.running.guard import guarded
from penstock.cli.workflows.find import check_workflow_id
from penstock.cli.workflows.tree import state_text, without_steps
from penstock.domain.errors import ConfigError
from penstock.domain.ids import check_id

if TYPE_CHECKING:
    from penstock.domain.workflows import WorkflowInfo, WorkflowState

LIMIT_MAX = 10_000


@guarded
def list_workflows(
    state: Annotated[
        str | None, typer.Option("--state", metavar="A,B", help="running, completed, failed, cancelled.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only workflows of this name.")] = None,
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="ID", help="Only those that this job has enqueued.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=LIMIT_MAX, help="Workflows a page.")
    ] = 20,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="The next page: the last id of the one before.")
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List workflows, newest first.

    \b
    penstock workflows list --store sqlite:///jobs.db
    penstock workflows list --state failed --json
    penstock workflows list --name order --limit 100
    """
    from penstock.store.contract import ListWorkflows

    wanted = ListWorkflows(
        name=name,
        parent=None if parent is None else check_id(parent),
        states=_states(state),
        before=None if before is None else check_workflow_id(before),
        limit=limit + 1,
    )
    with existing_store(store) as opened:
        found = opened.list_workflows(wanted).wait()
        address = opened.info.address
    page, more = found[:limit], len(found) > limit
    if as_json:
        print_json({
            "workflows": [without_steps(one) for one in page], "next": page[-1].id if more else None, "store": address
        })  # fmt: skip
    else:
        _show(page, more, address)


def _states(words: str | None) -> frozenset[WorkflowState] | None:
    from penstock.domain.workflows import WorkflowState

    if words is None:
        return None
    try:
        return frozenset(WorkflowState(word.strip().lower()) for word in words.split(","))
    except ValueError as error:
        raise ConfigError(f"{error}; use one of: {', '.join(WorkflowState)}") from None


def _show(page: list[WorkflowInfo], more: bool, address: str) -> None:
    made = table("id", "name", "state", "jobs", "created", "ended")
    for one in page:
        ended = "-" if one.ended_at is None else age(one.ended_at)
        made.add_row(one.id, one.name, state_text(one.state), f"{one.ended:,}/{one.size:,}", age(one.created_at), ended)
    if page:
        show(made)
    older = f"; older ones: --before {page[-1].id}" if more else ""
    show(f"{plural(len(page), 'workflow')} in {address}{older}")
