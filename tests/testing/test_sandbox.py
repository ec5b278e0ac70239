"""A sandbox is private, empty, and gone afterwards; the app is then as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock import App, ConfigError, ResultTimeout, StoreClosed
from penstock.testing import FakeClock, inline, sandbox, watched


def test_the_app_is_restored_also_when_the_test_fails(app: App) -> None:
    @app.job
    async def greet() -> None: ...

    before = app.store

    def fail() -> None:
        with sandbox(app):
            assert app.store is not before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert app.store is before


def test_the_clock_is_restored(app: App) -> None:
    with sandbox(app, clock=FakeClock(datetime(2001, 2, 3, tzinfo=UTC))):
        old = app.client.new_id()
    assert app.client.new_id()[:8] > old[:8], "ids come from the real clock again"


def test_nothing_is_left_on_disk(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    @app.job
    async def greet() -> None: ...

    with sandbox(app):
        greet.enqueue()
        assert list(folder.iterdir()) != []
    assert list(folder.iterdir()) == []


def test_each_sandbox_is_empty(app: App) -> None:
    @app.job
    async def greet() -> None: ...

    for _ in range(2):
        with sandbox(app) as jobs:
            jobs.assert_not_enqueued()
            greet.enqueue()
            assert len(jobs.enqueued) == 1


def test_sandboxes_nest(app: App) -> None:
    @app.job
    async def greet(name: str) -> None: ...

    with sandbox(app) as outer:
        greet.enqueue("outer")
        with sandbox(app) as inner:
            greet.enqueue("inner")
        greet.enqueue("outer again")
        inner.assert_enqueued(greet, name="inner", count=1)
        outer.assert_not_enqueued(greet, name="inner")
        outer.assert_enqueued(greet, count=2)


def test_two_apps_have_their_own(app: App, tmp_path: Path) -> None:
    other = App(f"sqlite:///{tmp_path}/other.db")

    @app.job
    async def here() -> None: ...

    @other.job
    async def there() -> None: ...

    with sandbox(app) as first, sandbox(other) as second:
        here.enqueue()
        there.enqueue()
        first.assert_enqueued("here", count=1)
        second.assert_enqueued("there", count=1)
        first.assert_not_enqueued("there")
    assert not (tmp_path / "other.db").exists()


def test_a_handle_is_of_no_use_after_the_sandbox(app: App) -> None:
    @app.job
    async def greet() -> None: ...

    with sandbox(app) as jobs:
        store = app.store
        greet.enqueue()
        jobs.run()
    with pytest.raises(StoreClosed):
        store.count_jobs().wait()


def test_waiting_for_a_result_that_nobody_makes_ends_with_advice(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "PATIENCE_SECONDS", 0.05)

    @app.job
    async def greet() -> str:
        return "hello"

    with sandbox(app) as jobs:
        job = greet.enqueue()
        with pytest.raises(ResultTimeout, match=r"call run\(\) or arun\(\) first"):
            job.result()
        jobs.run()
        assert job.result() == "hello"


def test_what_is_not_an_app_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes a penstock\.App, not str"), sandbox("tasks:app"):  # type: ignore[arg-type]
        pass
    with pytest.raises(ConfigError, match=r"takes a penstock\.App, not NoneType"), inline(None):  # type: ignore[arg-type]
        pass


def test_importing_it_needs_no_pytest_and_loads_nothing_else() -> None:
    code = (
        "import sys, penstock.testing; "
        "print([name for name in ('pytest', 'apsw', 'asyncio', 'penstock.app') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "[]"
