"""Waking those who wait: one notification on the channel of the store's schema."""

from __future__ import annotations

from penstock.store.postgres.steps import Steps, run


def wake() -> Steps[None]:
    """Notify when the transaction commits. Any number of them in one transaction is one; with notify=off it is none."""
    yield from run("notify")
