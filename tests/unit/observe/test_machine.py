from __future__ import annotations

import platform
from importlib.metadata import version

import pytest

from penstock.observe import machine


def test_what_is_said_of_this_machine() -> None:
    found = {finding.name: finding for finding in machine.check_machine()}
    assert list(found) == ["versions", "event loop", "open files", "machine"]
    assert f"penstock {version('penstock')}, Python {platform.python_version()}" in found["versions"].message
    assert "core" in found["machine"].message


@pytest.mark.parametrize(("limit", "level"), [(None, "ok"), (1024, "ok"), (256, "warning")])
def test_few_open_files_are_a_warning(monkeypatch: pytest.MonkeyPatch, limit: int | None, level: str) -> None:
    monkeypatch.setattr(machine, "_open_files_limit", lambda: limit)
    found = machine.check_machine()[2]
    assert (found.level, (found.fix or "").startswith("raise the limit")) == (level, level != "ok")


@pytest.mark.parametrize("installed", [True, False])
def test_the_event_loop_is_named(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: object() if installed else None)
    assert ("penstock[uvloop]" in machine.check_machine()[1].message) is not installed
