"""How much is measured: `tiny` only tries the command, `small` is the default, `full` goes up to ten million jobs."""

from __future__ import annotations

from dataclasses import dataclass

MILLION = 1_000_000


@dataclass(frozen=True)
class Size:
    """`jobs` are drained at a time by a process, `claims` timed at a time, `churn_jobs` churned per point."""

    name: str
    waiting: tuple[int, ...]
    history: tuple[int, ...]
    tenants: tuple[int, ...]
    types: tuple[int, ...]
    processes: tuple[int, ...]
    jobs: int
    claims: int
    churn_jobs: int
    churn_points: int
    disk_gib: float
    """So much must be free."""

    @property
    def is_trial(self) -> bool:
        return self.name == "tiny"


SIZES = {
    size.name: size
    for size in (
        Size(
            name="tiny",
            waiting=(50, 200),
            history=(0, 100),
            tenants=(1, 10),
            types=(1, 10),
            processes=(1, 2),
            jobs=100,
            claims=5,
            churn_jobs=100,
            churn_points=3,
            disk_gib=0.1,
        ),
        Size(
            name="small",
            waiting=(1_000, 10_000, 100_000, MILLION),
            history=(0, 10_000, 100_000, MILLION),
            tenants=(1, 10, 100, 1_000, 10_000),
            types=(1, 10, 100, 1_000),
            processes=(1, 2, 3, 4),
            jobs=30_000,
            claims=400,
            churn_jobs=10_000,
            churn_points=21,
            disk_gib=6,
        ),
        Size(
            name="full",
            waiting=(1_000, 10_000, 100_000, MILLION, 10 * MILLION),
            history=(0, 10_000, 100_000, MILLION, 10 * MILLION),
            tenants=(1, 10, 100, 1_000, 10_000),
            types=(1, 10, 100, 1_000),
            processes=(1, 2, 3, 4),
            jobs=30_000,
            claims=400,
            churn_jobs=10_000,
            churn_points=21,
            disk_gib=20,
        ),
    )
}
