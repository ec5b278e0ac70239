"""Texts that no store could hold are refused where they are given, alike on every engine, by the name of the field."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from penstock import (
    App,
    Concurrency,
    ConfigError,
    Context,
    PayloadError,
    PenstockError,
    RateLimit,
    State,
    Tenant,
    Unique,
)
from tests.contract.engines import Engine

BAD = {"a lone surrogate": "half \ud800", "a NUL": "no\0end"}
ODD = ["\x1b[2J", "\u202e", "水 🐟", " ", "'; DROP TABLE job; --", "\ue000", "\uffff"]


@pytest.fixture
def app(engine: Engine, address: str) -> Iterator[App]:
    with closing(App(address)) as made:

        @made.job(aliases=["other"])
        async def work(key: str = "k") -> None: ...

        yield made
    engine.drop(address)


def work(app: App, **options: Any) -> Any:
    declared = app.registry.find("work")
    assert declared is not None
    return app.enqueue("work", {"key": options.pop("payload_key", "k")}, **options)


Field = tuple[str, Callable[[App, str], object]]
FIELDS: dict[str, Field] = {
    "tenant": ("tenant", lambda app, text: work(app, tenant=Tenant(text))),
    "workspace": ("tenant", lambda app, text: work(app, tenant=Tenant("a", text))),
    "unique": ("unique key", lambda app, text: work(app, unique=Unique(text))),
    "unique from the payload": ("payload", lambda app, text: work(app, payload_key=text, unique=Unique("u:{key}"))),
    "limit": ("limit", lambda app, text: work(app, limit=Concurrency(text, 1))),
    "rate limit": ("limit", lambda app, text: work(app, rate_limit=RateLimit(text, 1))),
    "limit from the payload": ("payload", lambda app, text: work(app, payload_key=text, limit=Concurrency("{key}", 1))),
    "queue": ("queue", lambda app, text: work(app, queue=text)),
    "capability": ("capability", lambda app, text: work(app, capability=text)),
    "tag": ("tags", lambda app, text: work(app, tags=[text])),
    "type": ("job name", lambda app, text: app.enqueue(text)),
    "id": ("id", lambda app, text: work(app, id=text)),
    "get": ("id", lambda app, text: app.get(text)),
    "pause": ("queue", lambda app, text: app.pause_queue(text, force=True)),
    "pause type": ("type", lambda app, text: app.pause_type(text, force=True)),
    "resume": ("queue", lambda app, text: app.resume_queue(text)),
    "pause reason": ("reason", lambda app, text: app.pause_queue("q", reason=text, force=True)),
    "pause type reason": ("reason", lambda app, text: app.pause_type("t", reason=text, force=True)),
    "pause by": ("by", lambda app, text: app.pause_queue("q", by=text, force=True)),
    "resume by": ("by", lambda app, text: app.resume_type("t", by=text)),
    "workflow": ("workflow name", lambda app, text: app.workflow(text)),
    "step": ("step name", lambda app, text: app.workflow("w").step([], name=text)),
    "schedule": ("schedule", lambda app, text: app.schedules.add(text, job=bound(app), every="1h")),
    "schedule by": ("by", lambda app, text: app.schedules.add("s", job=bound(app), every="1h", by=text)),
    "schedule zone": ("zone", lambda app, text: app.schedules.add("s", job=bound(app), cron="0 3 * * *", tz=text)),
    "schedule cron": ("cron", lambda app, text: app.schedules.add("s", job=bound(app), cron=text)),
    "schedule get": ("schedule", lambda app, text: app.schedules.get(text)),
    "schedule pause": ("schedule", lambda app, text: app.schedules.pause(text)),
    "spread": ("spread", lambda app, text: app.spread(text, [bound(app)])),
    "worker id": ("worker_id", lambda app, text: run(app, worker_id=text)),
    "worker queue": ("queues", lambda app, text: run(app, queues=[text])),
    "worker type": ("types", lambda app, text: run(app, types=[text])),
    "worker capability": ("capabilities", lambda app, text: run(app, capabilities=[text])),
    "weights": ("tenant_weights", lambda app, text: run(app, tenant_weights={text: 2})),
    "history": ("history", lambda app, text: App("sqlite:///x.db", history=text)),  # type: ignore[arg-type]
}


def bound(app: App) -> Any:
    declaration = app.registry.find("work")
    assert declaration is not None
    from penstock.declare.jobtype import JobType

    return JobType(app.client, declaration).bind()


def run(app: App, **settings: Any) -> object:
    return asyncio.run(app.run_worker(burst=True, health="off", **settings))


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize(("field", "give"), FIELDS.values(), ids=FIELDS)
def test_a_text_that_cannot_be_stored_is_refused_by_the_name_of_its_field(
    app: App, field: str, give: Callable[[App, str], object], bad: str
) -> None:
    with pytest.raises(PenstockError) as caught:
        give(app, bad)
    assert field in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ODD)
def test_other_odd_texts_are_kept_as_they_are(app: App, text: str) -> None:
    job = work(app, tenant=Tenant(text, text), unique=Unique(text), limit=Concurrency(text, 1))
    app.pause_queue("default", reason=text)
    app.resume_queue("default")
    run(app)
    found = job.read()
    assert found.state is State.COMPLETED
    assert found.tenant == Tenant(text, text)


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_a_handler_says_is_refused_in_the_handler_or_made_storable(app: App, bad: str) -> None:
    refused: list[str] = []

    @app.job(attempts=1)
    async def talks(ctx: Context) -> None:
        async def nothing() -> None: ...

        for said in (lambda: ctx.progress(1, phase=bad), lambda: ctx.once(bad, nothing)):
            try:
                await said()
            except (ConfigError, PayloadError, PenstockError) as error:
                refused.append(str(error))
        raise type("Odd", (Exception,), {"__module__": bad, "code": bad})(bad)

    job = talks.enqueue()
    run(app)
    found = job.read()
    assert found.error is not None
    assert found.state is State.DEAD
    assert any("once(" in text for text in refused)
