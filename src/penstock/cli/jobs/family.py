"""What a job belongs to and what it has made, as a tree: its workflow, or its follow-ups and theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.cli.output.tables import show, state_text
from penstock.cli.workflows.tree import document, tree_of

if TYPE_CHECKING:
    from rich.tree import Tree

    from penstock.domain.job import Job
    from penstock.domain.workflows import WorkflowInfo
    from penstock.store.contract import Store

CHILDREN_MAX = 20
DEPTH_MAX = 5


@dataclass
class Family:
    """What a job has made: the newest of it, each with its own, down to some depth, and whether there is more."""

    job: Job
    workflow: WorkflowInfo | None = None
    made: list[WorkflowInfo] = field(default_factory=list)
    children: list[Family] = field(default_factory=list)
    more_children: bool = False
    more_made: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "workflow": None if self.workflow is None else document(self.workflow),
            "children": [{"id": one.job.id, "type": one.job.type, "state": one.job.state} for one in self.children],
            "more_children": self.more_children,
            "workflows": [one.id for one in self.made],
            "more_workflows": self.more_made,
        }

    def show(self) -> None:
        if self.workflow is not None:
            show("\nworkflow", tree_of(self.workflow))
        if self.children or self.made:
            show("\nenqueued with its completion", self._tree())

    def _tree(self) -> Tree:
        from rich.text import Text
        from rich.tree import Tree

        head = Text.assemble(self.job.type, " ", state_text(self.job.state), f"  {self.job.id}")
        branch = Tree(head, guide_style="dim")
        for child in self.children:
            branch.add(child._tree())
        for made in self.made:
            branch.add(tree_of(made))
        if self.more_children:
            branch.add(f"… more: penstock jobs list --parent {self.job.id}")
        if self.more_made:
            branch.add(f"… more: penstock workflows list --parent {self.job.id}")
        return branch


def read_family(store: Store, job: Job) -> Family:
    from penstock.domain.workflows import is_workflow

    family = Family(job)
    if job.parent is not None and is_workflow(job.parent):
        family.workflow = store.read_workflow(job.parent).wait()
    _add_children(store, family, DEPTH_MAX)
    return family


def _add_children(store: Store, family: Family, depth: int) -> None:
    from penstock.store.contract import ListJobs, ListWorkflows

    if depth == 0:
        return
    found = store.list_jobs(ListJobs(parent=family.job.id, limit=CHILDREN_MAX + 1)).wait()
    family.more_children = len(found) > CHILDREN_MAX
    family.children = [Family(child) for child in reversed(found[:CHILDREN_MAX])]
    flows = store.list_workflows(ListWorkflows(parent=family.job.id, limit=CHILDREN_MAX + 1)).wait()
    family.more_made = len(flows) > CHILDREN_MAX
    for made in flows[:CHILDREN_MAX]:
        whole = store.read_workflow(made.id).wait()
        family.made += [] if whole is None else [whole]
    for child in family.children:
        _add_children(store, child, depth - 1)
