"""An app as a user's project has it, with a store that no test may touch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App


@pytest.fixture
def real_store(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def app(real_store: Path) -> Iterator[App]:
    made = App(f"sqlite:///{real_store}")
    yield made
    made.close()
    assert not real_store.exists(), "a sandbox touched the app's own store"
