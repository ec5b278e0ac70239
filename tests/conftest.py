"""Rules for every test run. With PENSTOCK_NO_SKIPS=1 a test that did not really run fails the run."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.long"]

# How long a machine takes to draw examples says nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

_not_run: list[str] = []


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end: Python need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped or hasattr(report, "wasxfail"):
        _not_run.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _not_run.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _forbidden() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _forbidden():
        terminalreporter.section("skipped or expected to fail, which this run forbids", red=True)
        for nodeid in _not_run:
            terminalreporter.line(nodeid)


def _forbidden() -> bool:
    return bool(_not_run) and os.environ.get("PENSTOCK_NO_SKIPS") == "1"
