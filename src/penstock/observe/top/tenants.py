"""What was done for tenants, and for whom most of it."""

from __future__ import annotations

import msgspec

from penstock.domain.figures.series import OTHER, TenantFigures
from penstock.observe.top.look import Look
from penstock.observe.top.work import share_of
from penstock.observe.words import counted

SLOTS_BUSY_MIN = 1.0
"""Who uses less than a slot is nobody's trouble."""
SHARE_MIN = 0.5


class TenantWork(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for a tenant. `slots_busy` is how many slots its jobs have used, on average. What waits is not
    counted by tenant.
    """

    name: str
    completed_per_second: float
    failed_per_second: float
    failed_share: float | None
    slots_busy: float


def tenants(look: Look) -> list[TenantWork]:
    found: dict[str, TenantFigures] = {}
    for row in look.page.tenants:
        found.setdefault(row.org, TenantFigures()).add(row.figures)
    return [
        TenantWork(
            name=org, completed_per_second=one.completed / look.seconds, failed_per_second=one.failed / look.seconds,
            failed_share=share_of(one.failed, one.completed), slots_busy=one.ran / look.seconds,
        )
        for org, one in found.items()
    ]  # fmt: skip


class Heavy(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant whose jobs have used most of the slots that jobs of tenants used."""

    tenant: str
    slots_busy: float
    of: float
    others: int

    @property
    def text(self) -> str:
        return (
            f"tenant {self.tenant!r} uses {self.slots_busy:.3g} of {self.of:.3g} busy slots; "
            f"{counted(self.others, 'other tenant')} {'shares' if self.others == 1 else 'share'} the rest"
        )


def heavy(look: Look) -> Heavy | None:
    """Whose jobs are the most work. How many of them wait is not counted by tenant; tenants of a queue take turns."""
    rows = tenants(look)
    named = [row for row in rows if row.name != OTHER]
    if len(rows) < 2 or not named:
        return None
    most, of = max(named, key=lambda row: row.slots_busy), sum(row.slots_busy for row in rows)
    if most.slots_busy < max(SLOTS_BUSY_MIN, SHARE_MIN * of):
        return None
    return Heavy(tenant=most.name, slots_busy=most.slots_busy, of=of, others=len(rows) - 1)
