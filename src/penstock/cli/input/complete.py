"""Values that a shell can complete without asking any store."""

from __future__ import annotations

from collections.abc import Callable


def words(*known: str) -> Callable[[str], list[str]]:
    """Completes one of these."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


def states(incomplete: str) -> list[str]:
    """Completes the last of a list of states, and does not offer one twice."""
    from penstock.domain.job import State

    before, comma, last = incomplete.rpartition(",")
    offered = [state.value for state in State if state.value not in before.split(",")]
    return [before + comma + word for word in words(*offered)(last)]
