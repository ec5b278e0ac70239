"""What the pages say about defaults is what the code has."""

from __future__ import annotations

import re

from penstock.coordinator.settings import Retention
from penstock.declare.jobtype import EnqueueOptions, TypeOptions
from penstock.domain.duration import format_duration
from penstock.domain.options import PRIORITY_MAX, PRIORITY_MIN, SNOOZES_MAX, TAGS_MAX, Backoff, Policy
from penstock.domain.payload import DEPTH_MAX, PAYLOAD_BYTES_MAX
from penstock.worker.settings import WorkerSettings
from tests.docs.pages import ROOT

GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
PROMISES = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def table_row(first_cell: str) -> list[str]:
    """The cells of the guide's table row that begins with this cell."""
    found = re.findall(rf"^\| [^|]*`{re.escape(first_cell)}`[^|]* \|.*$", GUIDE, flags=re.MULTILINE)
    assert found, f"the guide has no row for {first_cell}"
    return [cell.strip() for cell in found[0].strip("|").split("|")]


def test_the_option_table_is_complete() -> None:
    refused = {"rate_limit", "limit"}
    for option in set(EnqueueOptions.__annotations__) - refused:
        declared = option in TypeOptions.__annotations__
        assert table_row(option)[3] == ("yes" if declared else ""), option
    for option in refused:
        assert f"`{option}`" in GUIDE


def test_option_defaults() -> None:
    assert table_row("attempts")[2] == str(Policy().attempts)
    assert table_row("snoozes")[2] == str(Policy().snoozes)
    assert f"0 to {SNOOZES_MAX:,};" in table_row("snoozes")[1]
    assert Policy().timeout == 300
    assert table_row("timeout")[2] == "5 minutes"
    assert Backoff() == Backoff(5.0, 2.0, 3600.0)
    assert table_row("backoff")[2] == '`Exponential("5s", "1h")`'
    assert f"{PRIORITY_MIN} to {PRIORITY_MAX}".replace("-", "−") in table_row("priority")[1]
    assert f"up to {TAGS_MAX}" in table_row("tags")[1]
    assert (Policy().ttl, Policy().remove_on_complete, Policy().remove_on_fail) == (None, False, False)


def test_worker_defaults() -> None:
    settings = WorkerSettings()
    assert table_row("concurrency")[1] == str(settings.concurrency)
    for name in ("poll_interval", "heartbeat_interval", "shutdown_timeout"):
        assert table_row(name)[1].replace(" ", "") == format_duration(getattr(settings, name))
    assert settings.job_timeout is None
    assert (settings.stale_after, settings.recovery_interval) == (30.0, 5.0)
    assert "lost after 30 s" in PROMISES
    assert "every 5 s" in PROMISES


def test_retention_defaults() -> None:
    assert Retention() == Retention(completed=7 * 86400.0, cancelled=7 * 86400.0, dead=None)
    assert "after 7 days, dead ones never" in GUIDE


def test_limits() -> None:
    assert PAYLOAD_BYTES_MAX == 2**20
    assert "1 MiB" in GUIDE
    assert f"{DEPTH_MAX} levels" in SECURITY
