"""An App as the config describes it, and what is given to it on top."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import App, ConfigError, Retention
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
