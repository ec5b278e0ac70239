"""A workflow as a tree: each step under the last of those that it comes after, with how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from penstock.domain.workflows import StepInfo, WorkflowInfo, WorkflowState

STYLES = {"running": "magenta", "completed": "green", "failed": "red", "cancelled": "yellow"}
BAR_WIDTH = 20


def document(found: WorkflowInfo) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def without_steps(found: WorkflowInfo) -> dict[str, Any]:
    return {name: value for name, value in document(found).items() if name != "steps"}


def state_text(state: WorkflowState) -> Text:
    from rich.text import Text

    return Text(state, style=STYLES[state])


def tree_of(found: WorkflowInfo) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    head = Text.assemble(found.name, " ", state_text(found.state), f"  {_share(found.ended, found.size)}")
    root = Tree(head, guide_style="dim")
    places = {step.name: number for number, step in enumerate(found.steps)}
    branches: dict[str, Tree] = {}
    for step in in_order(found.steps):
        last = max(step.after, key=lambda name: places[name], default=None)
        under = root if last is None else branches[last]
        branches[step.name] = under.add(_line(step))
    return root


def in_order(steps: Sequence[StepInfo]) -> list[StepInfo]:
    """Each after all those that it comes after."""
    placed: dict[str, StepInfo] = {}
    waiting = list(steps)
    while waiting:
        ready = [step for step in waiting if all(name in placed for name in step.after)]
        placed |= {step.name: step for step in ready}
        waiting = [step for step in waiting if step.name not in placed]
    return list(placed.values())


def _line(step: StepInfo) -> Text:
    from rich.text import Text

    from penstock.cli.output import STATE_STYLES

    line = Text(step.name)
    if share := _share(step.ended, step.size):
        line.append(f"  {share}")
    for state, count in step.jobs.items():
        line.append(f"  {count:,} {state}", style=STATE_STYLES[state])
    if not step.begun and len(step.after) > 1:
        line.append(f"  (after {', '.join(step.after)})", style="dim")
    return line


def _share(ended: int, size: int) -> str:
    if size <= 1:
        return "" if size else "no jobs"
    filled = round(BAR_WIDTH * ended / size)
    return f"{'█' * filled}{'░' * (BAR_WIDTH - filled)} {ended:,}/{size:,}"
