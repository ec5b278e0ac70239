"""An App as the config describes it, and what is given to it on top."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Concurrency, ConfigError, Context, JobHandle, Retention, State
from penstock.config.load import load
from penstock.store.contract import ListJobs
from penstock.worker.lone_coordinator import LoneCoordinator
from penstock.worker.settings import WorkerSettings
from penstock.worker.worker import Worker

Toml = Callable[[str], Path]
CONFIG = """
store = "sqlite:///configured.db"
history = "all"
queue.ttl = "1h"
[retention]
completed = "1d"
[worker]
concurrency = 3
id = "configured"
"""


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> list[WorkerSettings]:
    """The settings of every worker that is made."""
    seen: list[WorkerSettings] = []
    init = Worker.__init__

    def spy(self: Worker, *args: Any, **kwargs: Any) -> None:
        seen.extend(value for value in (*args, *kwargs.values()) if isinstance(value, WorkerSettings))
        init(self, *args, **kwargs)

    monkeypatch.setattr(Worker, "__init__", spy)
    return seen


def run(app: App, **given: Any) -> None:
    @app.job
    async def nothing() -> None: ...

    asyncio.run(app.run_worker(burst=True, **given))
    app.close()


def test_the_store_is_that_of_the_config(toml: Toml, folder: Path) -> None:
    toml(CONFIG)
    app = App.from_config()
    assert app.store.address == str(folder / "configured.db")
    app.close()


def test_without_a_store_the_fix_is_named() -> None:
    with pytest.raises(ConfigError, match="PENSTOCK_STORE"):
        App.from_config()


def test_another_file(folder: Path) -> None:
    (folder / "other.toml").write_text('store = "sqlite:///other.db"\n')
    app = App.from_config("other.toml")
    assert app.config is not None
    assert app.config.file == str(folder / "other.toml")
    app.close()


def test_jobs_of_a_queue_that_does_not_wait_for_workers_fail_as_they_are_enqueued(toml: Toml) -> None:
    toml('store = "sqlite:///configured.db"\nqueue.fail_without_worker = ["mail"]\n')
    app = App.from_config()
    assert app.enqueue("greet", queue="mail").state() is State.DEAD
    assert app.enqueue("greet").state() is State.PENDING
    app.close()


def test_types_that_declare_no_time_to_live_get_that_of_the_config(toml: Toml) -> None:
    toml(CONFIG)
    app = App.from_config()

    @app.job
    def patient() -> None: ...

    @app.job(ttl="5s")
    def hasty() -> None: ...

    @app.job(ttl=None)
    def eternal() -> None: ...

    found = {declaration.name: declaration.options.policy.ttl for declaration in app.registry}
    assert found == {"patient": 3600.0, "hasty": 5.0, "eternal": None}
    app.close()


def test_a_worker_takes_its_settings_from_the_config(toml: Toml, settings: list[WorkerSettings]) -> None:
    toml(CONFIG)
    run(App.from_config())
    assert (settings[0].concurrency, settings[0].worker_id, settings[0].history) == (3, "configured", "all")
    assert settings[0].retention == Retention(completed=86400.0)


def test_a_coordinator_takes_its_settings_from_the_config(toml: Toml, monkeypatch: pytest.MonkeyPatch) -> None:
    toml(CONFIG)
    seen: list[WorkerSettings] = []

    async def told(self: LoneCoordinator, *_: Any) -> None:
        seen.append(self._settings)

    monkeypatch.setattr(LoneCoordinator, "run", told)
    app = App.from_config()
    asyncio.run(app.run_coordinator())
    app.close()
    (settings,) = seen
    assert settings.retention == Retention(completed=86400.0)
    assert settings.worker_id != "configured", "the config names a worker, not this one"


def test_what_is_given_comes_first(toml: Toml, settings: list[WorkerSettings]) -> None:
    toml(CONFIG)
    run(App.from_config(history="failures", retention=Retention(dead=1.0)), concurrency=9)
    assert (settings[0].concurrency, settings[0].worker_id, settings[0].history) == (9, "configured", "failures")
    assert settings[0].retention == Retention(dead=1.0)


def test_an_app_with_an_address_reads_no_config(toml: Toml, settings: list[WorkerSettings]) -> None:
    toml("this is not TOML")
    run(App("sqlite:///jobs.db", history="all"))
    assert (settings[0].concurrency, settings[0].history) == (50, "all")


def test_a_lifespan_is_handed_on(toml: Toml) -> None:
    toml(CONFIG)
    entered = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        entered.append(True)
        yield

    run(App.from_config(lifespan=lifespan))
    assert entered == [True]


# Limits

LIMITS = """
store = "sqlite:///limited.db"
[rate_limits]
"type:charge" = "10/second"
api = "5/second"
[concurrency_limits]
"queue:mail" = 2
"type:charge" = 3
"""


@pytest.fixture
def limited(toml: Toml) -> Iterator[App]:
    toml(LIMITS)
    app = App.from_config()
    yield app
    app.close()


def gates(job: JobHandle[Any]) -> tuple[str, ...]:
    return job.read().keys


def test_jobs_of_a_queue_or_a_type_get_the_limits_of_the_config(limited: App) -> None:
    @limited.job(limit=Concurrency("card:{card}", 1))
    async def charge(card: int) -> None: ...

    @limited.job
    async def other() -> None: ...

    both, one, none = charge.using(queue="mail").bind(7), other.using(queue="mail").bind(), other.bind()
    first, second, third = limited.enqueue_many([both, one, none])
    assert gates(first) == ("card:7", "type:charge", "type:charge", "queue:mail")
    assert (gates(second), gates(third)) == (("queue:mail",), ())
    assert gates(limited.enqueue("unknown", {}, queue="mail")) == ("queue:mail",)
    assert gates(asyncio.run(charge.aenqueue(8))) == ("card:8", "type:charge", "type:charge")


def test_follow_ups_get_them_too_also_where_only_the_worker_has_the_config(toml: Toml, folder: Path) -> None:
    toml(LIMITS)
    app = App(f"sqlite:///{folder}/limited.db")

    @app.job(queue="mail")
    async def notify() -> None: ...

    @app.job
    async def parent(ctx: Context) -> None:
        ctx.enqueue(notify.bind())

    parent.enqueue()
    asyncio.run(app._worker(load().worker_settings(), {"burst": True}).run())
    made = [app.get(job.id) for job in app.store.list_jobs(ListJobs(type="notify")).wait()]
    assert [gates(job) for job in made] == [("queue:mail",)]
    app.close()


def test_a_limit_for_a_type_that_the_app_does_not_have_is_told(limited: App, caplog: pytest.LogCaptureFixture) -> None:
    run(limited)
    [record] = [record for record in caplog.records if "type:charge" in record.getMessage()]
    assert record.getMessage() == "the config limits type:charge, which this app does not have; its types are: nothing"


def test_jobs_that_were_not_put_under_the_limit_of_their_queue_are_told_of_once(
    limited: App, caplog: pytest.LogCaptureFixture
) -> None:
    other = App(limited.store)

    @limited.job
    async def charge() -> None: ...

    first = other.enqueue("charge", {}, queue="mail")
    other.enqueue("charge", {}, queue="mail")
    charge.enqueue()
    asyncio.run(limited.run_worker(burst=True))
    told = [record.getMessage() for record in caplog.records if "does not hold" in record.getMessage()]
    assert [text.partition(": ")[0] for text in told] == [
        f"the limit of type:charge does not hold for charge {first.id}",
        f"the limit of queue:mail does not hold for charge {first.id}",
    ]


def test_a_limit_for_an_old_name_of_a_type_is_refused(limited: App) -> None:
    @limited.job(aliases=["charge"])
    async def charge_card() -> None: ...

    with pytest.raises(ConfigError, match=r"limits type:charge, an old name: write type:charge_card"):
        asyncio.run(limited.run_worker(burst=True))
