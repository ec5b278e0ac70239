"""Where bad histories are named, with the rule that each of them breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.checker.story import Story


@dataclass(frozen=True)
class Bad:
    """`rule` is the one that is broken; `also` are others that cannot but see it too."""

    rule: str
    name: str
    story: Callable[[], Story]
    also: frozenset[str] = frozenset()


BAD: list[Bad] = []


def breaks(rule: str, *also: str) -> Callable[[Callable[[], Story]], Callable[[], Story]]:
    def add(story: Callable[[], Story]) -> Callable[[], Story]:
        BAD.append(Bad(rule, story.__name__.replace("_", " "), story, frozenset(also)))
        return story

    return add


def claimed(story: Story, id: str = "job", token: int = 1, worker: str = "w1", **options: Any) -> None:
    """A job in a worker's hands."""
    story.enqueue(id, **options)
    story.claim(worker, (id, token, 1))
