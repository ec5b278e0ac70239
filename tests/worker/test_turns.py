"""Tenants take turns as the settings of a worker say (L4)."""

from __future__ import annotations

from collections import Counter

from penstock import App, Tenant
from tests.worker.running import burst


def test_a_tenant_has_as_many_turns_in_a_row_as_the_worker_is_told(app: App) -> None:
    ran: list[str] = []

    @app.job
    async def work(org: str) -> None:
        ran.append(org)

    app.enqueue_many([work.using(tenant=Tenant(org)).bind(org) for org in ("acme", "bolt") for _ in range(8)])
    burst(app, concurrency=4, tenant_weights={"acme": 3})
    assert Counter(ran[:4]) == {"acme": 3, "bolt": 1}
    assert Counter(ran) == {"acme": 8, "bolt": 8}
