from __future__ import annotations

import pytest

from penstock.domain.flow.routing import Obstacle, missing_resources, why_not
from penstock.domain.options import NO_RESOURCES, Resources
from penstock.store.contract import ClaimJobs, Waiting


def lane(
    type: str = "task", queue: str = "default", capability: str = "general", resources: Resources = NO_RESOURCES
) -> Waiting:
    return Waiting(type=type, queue=queue, capability=capability, resources=resources, jobs=1, oldest_due_at=0)


@pytest.mark.parametrize(
    ("offer", "asked", "obstacles"),
    [
        (ClaimJobs(1, 1), lane(), ()),
        (ClaimJobs(1, 1, types=("task",), queues=("default",)), lane(), ()),
        (ClaimJobs(1, 1, types=("other",)), lane(), ("type",)),
        (ClaimJobs(1, 1, types=()), lane(), ("type",)),
        (ClaimJobs(1, 1, queues=("other",)), lane(), ("queue",)),
        (ClaimJobs(1, 1, capabilities=("ml",)), lane(), ("capability",)),
        (ClaimJobs(1, 1, capabilities=("ml", "general")), lane(), ()),
        (ClaimJobs(1, 1), lane(resources=Resources(cpu=1)), ("resources",)),
        (ClaimJobs(1, 1, resources=Resources(cpu=1)), lane(resources=Resources(cpu=1)), ()),
        (ClaimJobs(1, 1, resources=Resources(cpu=1)), lane(resources=Resources(cpu=2)), ("resources",)),
        (
            ClaimJobs(1, 1, types=("x",), queues=("x",), capabilities=("x",)),
            lane(resources=Resources(gpu=1)),
            ("type", "queue", "capability", "resources"),
        ),
    ],
)
def test_every_obstacle_is_named(offer: ClaimJobs, asked: Waiting, obstacles: tuple[Obstacle, ...]) -> None:
    assert why_not(offer, asked) == obstacles


def test_what_is_too_little_is_named() -> None:
    needs = Resources(cpu=4, memory="8Gi", gpu=1)
    assert missing_resources(None, needs) == ("cpu", "memory", "gpu")
    assert missing_resources(Resources(cpu=4, memory="4Gi", gpu=2), needs) == ("memory",)
    assert missing_resources(needs, needs) == ()
