"""A workflow as a tree: each step below the one that it comes after, with how far it is.

The only step after another stands below it at the same level, with an arrow: a long chain stays a column. Where several
come after one they are its branches, and one that comes after several begins a branch at the top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.cli.output.tables import STATE_STYLES, plural

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from penstock.domain.workflows import StepInfo, WorkflowInfo, WorkflowState

STYLES = {"running": "magenta", "completed": "green", "failed": "red", "cancelled": "yellow"}
BAR_WIDTH = 20
STEPS_SHOWN = 200
NAMES_SHOWN = 10
LEVELS_MAX = 8
"""Deeper branches would leave no room on a terminal of 80 columns: they stand beside the one before, and say so."""


def document(found: WorkflowInfo) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def without_steps(found: WorkflowInfo) -> dict[str, Any]:
    return {name: value for name, value in document(found).items() if name != "steps"}


def state_text(state: WorkflowState) -> Text:
    from rich.text import Text

    return Text(state, style=STYLES[state])


def tree_of(found: WorkflowInfo, limit: int = STEPS_SHOWN) -> Tree:
    """Its first steps, and how many more there are."""
    from rich.text import Text
    from rich.tree import Tree

    ends = "" if found.stopping is None else f", begins no more steps and will be {found.stopping}"
    head = Text.assemble(found.name, " ", state_text(found.state), ends, f"  {_share(found.ended, found.size)}")
    root = Tree(head, guide_style="dim")
    _grow(root, found.steps, limit)
    if (more := len(found.steps) - limit) > 0:
        root.add(f"… {plural(more, 'more step')}: penstock workflows show {found.id} --limit {len(found.steps)}")
    return root


@dataclass(frozen=True)
class _Branch:
    """Where a step stands: its lines, with those of a chain below it, and what hangs from them."""

    tree: Tree
    lines: Text
    under: Tree
    level: int


def _grow(root: Tree, steps: Sequence[StepInfo], limit: int) -> None:
    forks = Counter(step.after[0] for step in steps if len(step.after) == 1)
    branches: dict[str, _Branch] = {}
    for step in in_order(steps)[:limit]:
        before = branches[step.after[0]] if len(step.after) == 1 else None
        if before is not None and forks[step.after[0]] == 1:
            before.lines.append("\n↓ ").append_text(_line(step))
            branches[step.name] = before
        elif before is not None and before.level < LEVELS_MAX:
            branches[step.name] = _branch(before.tree, _line(step), before.level + 1)
        else:
            under, level = (root, 1) if before is None else (before.under, before.level)
            branches[step.name] = _branch(under, _line(step).append_text(_after(step)), level)


def _branch(under: Tree, lines: Text, level: int) -> _Branch:
    return _Branch(under.add(lines), lines, under, level)


def in_order(steps: Sequence[StepInfo]) -> list[StepInfo]:
    """Each after all those that it comes after."""
    left = {step.name: len(step.after) for step in steps}
    followers: dict[str, list[StepInfo]] = {}
    for step in steps:
        for name in step.after:
            followers.setdefault(name, []).append(step)
    placed = [step for step in steps if not step.after]
    for done in placed:  # It grows meanwhile.
        for step in followers.get(done.name, ()):
            left[step.name] -= 1
            if left[step.name] == 0:
                placed.append(step)
    return placed


def _line(step: StepInfo) -> Text:
    from rich.text import Text

    line = Text(step.name)
    if share := _share(step.ended, step.size):
        line.append(f"  {share}")
    for state, count in step.jobs.items():
        line.append(f"  {count:,} {state}", style=STATE_STYLES[state])
    return line


def _after(step: StepInfo) -> Text:
    """What the place of a step does not tell: those that it comes after."""
    from rich.text import Text

    more = len(step.after) - NAMES_SHOWN
    names = ", ".join(step.after[:NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return Text(f"  (after {names})" if names else "", style="dim")


def _share(ended: int, size: int) -> str:
    if size <= 1:
        return "" if size else "no jobs"
    filled = round(BAR_WIDTH * ended / size)
    return f"{'█' * filled}{'░' * (BAR_WIDTH - filled)} {ended:,}/{size:,}"
