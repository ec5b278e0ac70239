"""Why no worker takes a job, in words, and what would help: told by claims, duties, the doctor and enqueues alike."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from penstock.domain.duration import format_size
from penstock.domain.flow.routing import Lane, Obstacle, Offer, missing_resources, why_not
from penstock.domain.options import NO_RESOURCES, Resources


def why_stuck(lane: Lane, takers: Sequence[Offer], known: Sequence[str]) -> tuple[str, str]:
    """Why none takes the lane's jobs, by the one that comes closest, and what would."""
    if not takers:
        return "no worker is running", "start one: penstock worker MODULE:APP"
    closest = min(takers, key=lambda worker: _distance(why_not(worker, lane)))
    obstacles = why_not(closest, lane)
    if "type" in obstacles:
        return _unknown_type(lane.type, known)
    alike = [worker for worker in takers if why_not(worker, lane) == obstacles]
    parts = [_obstacle(lane, alike, obstacle) for obstacle in obstacles]
    return " and ".join(said for said, _ in parts), f"start a worker with {' '.join(flag for _, flag in parts)}"


def _distance(obstacles: tuple[Obstacle, ...]) -> tuple[bool, int]:
    return "type" in obstacles, len(obstacles)


def _unknown_type(type: str, known: Sequence[str]) -> tuple[str, str]:
    reason = f"none takes the type {type!r}"
    if type in known:
        return reason, "start a worker of the app that declares it, without --types or with this type among them"
    near = get_close_matches(type, known, 1)
    return (
        f"{reason}, which no worker has ever declared" + (f"; the nearest is {near[0]!r}" if near else ""),
        f"declare it (name= or aliases=) and start a worker, or cancel them: penstock jobs list --type {type}",
    )


def _obstacle(lane: Lane, closest: Sequence[Offer], obstacle: Obstacle) -> tuple[str, str]:
    """What is missing at those that come closest, and the flags that would bring it."""
    if obstacle == "queue":
        return f"none serves the queue {lane.queue!r}", f"--queues {lane.queue}"
    if obstacle == "capability":
        return f"none has the capability {lane.capability!r}", f"--capabilities {lane.capability}"
    flags = " ".join(f"--{name} {_amount(name, getattr(lane.resources, name))}" for name in _needed(lane.resources))
    return _short_of(lane.resources, [worker.resources or NO_RESOURCES for worker in closest]), flags


def _short_of(needs: Resources, have: Sequence[Resources]) -> str:
    """What none of them has, or has together with the rest, and the most that any has of it."""
    names = set(_needed(needs)).intersection(*(missing_resources(one, needs) for one in have))
    shown = [name for name in _needed(needs) if name in names or not names]
    asked = ", ".join(f"{name} {_amount(name, getattr(needs, name))}" for name in shown)
    most = ", ".join(f"{name} {_amount(name, max(getattr(one, name) for one in have))}" for name in shown)
    return f"none has {asked}{'' if names else ' together'} (the most is {most})"


def _needed(resources: Resources) -> list[str]:
    return [name for name in ("cpu", "memory", "gpu") if getattr(resources, name)]


def _amount(name: str, amount: float) -> str:
    return format_size(int(amount)) if name == "memory" else f"{amount:g}"
