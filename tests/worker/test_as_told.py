"""What a worker is told by its settings is what it does, not only what it registers (R3, R8, L4)."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock import App, State, Tenant
from penstock.store.sqlite.store import SqliteStore
from tests.worker.running import burst


def test_it_takes_jobs_of_its_queues_alone(app: App) -> None:
    @app.job
    async def work() -> None: ...

    mail, other = work.using(queue="mail").enqueue(), work.enqueue()
    burst(app, queues=["mail"])
    assert (mail.state(), other.state()) == (State.COMPLETED, State.PENDING)


def test_it_takes_jobs_that_need_what_it_is_capable_of_and_no_others(app: App) -> None:
    @app.job
    async def work() -> None: ...

    media, general = work.using(capability="media").enqueue(), work.enqueue()
    burst(app, capabilities=["media"])
    assert (media.state(), general.state()) == (State.COMPLETED, State.PENDING)


def test_it_polls_as_often_as_it_is_told(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    listen, polls = SqliteStore.listen, list[float]()

    def noted(store: SqliteStore, poll_interval: float) -> object:
        polls.append(poll_interval)
        return listen(store, poll_interval)

    monkeypatch.setattr(SqliteStore, "listen", noted)

    @app.job
    async def work() -> None: ...

    burst(app, poll_interval="70ms")
    assert polls == [0.07]


def test_a_tenant_has_as_many_turns_in_a_row_as_it_is_told(app: App) -> None:
    ran: list[str] = []

    @app.job
    async def work(org: str) -> None:
        ran.append(org)

    app.enqueue_many([work.using(tenant=Tenant(org)).bind(org) for org in ("acme", "bolt") for _ in range(8)])
    burst(app, concurrency=4, tenant_weights={"acme": 3})
    assert Counter(ran[:4]) == {"acme": 3, "bolt": 1}
    assert Counter(ran) == {"acme": 8, "bolt": 8}
