"""A folder and an environment without any config."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test, empty, with no PENSTOCK_ variable set."""
    for name in [name for name in os.environ if name.startswith("PENSTOCK_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toml(folder: Path) -> Callable[[str], Path]:
    """Write penstock.toml."""

    def write(text: str) -> Path:
        path = folder / "penstock.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
