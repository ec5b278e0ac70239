"""An app on a store of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App
from tests.worker.process_jobs import store_in
from tests.worker.running import no_child_left


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


@pytest.fixture
def other_app(tmp_path: Path) -> Iterator[App]:
    """Another program's app on the same store, such as the release before."""
    other = App(f"sqlite:///{tmp_path}/jobs.db")
    yield other
    other.close()


@pytest.fixture
def process_app(tmp_path: Path) -> Iterator[App]:
    """The app of process_jobs.py. No process that its worker started may be left, not even as a zombie."""
    with no_child_left(), store_in(tmp_path) as app:
        yield app


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the handlers and the lifespan of process_jobs.py write down."""
    path = tmp_path / "diary"
    path.touch()
    monkeypatch.setenv("PROCESS_JOBS_DIARY", str(path))
    return path
