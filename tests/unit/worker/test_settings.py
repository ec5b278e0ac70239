"""A worker's settings: checked, in plain units, with defaults."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

import pytest

from penstock.coordinator.settings import CoordinatorSettings, Retention
from penstock.domain.errors import ConfigError
from penstock.domain.options import Resources
from penstock.worker.settings import default_worker_id, make_settings, no_lifespan


def test_the_defaults() -> None:
    settings = make_settings()
    assert (settings.concurrency, settings.poll_interval, settings.heartbeat_interval) == (50, 0.1, 10.0)
    assert (settings.types, settings.queues, settings.capabilities) == (None, None, ("general",))
    assert (settings.shutdown_timeout, settings.job_timeout, settings.burst) == (30.0, None, False)
    assert settings.stale_after == 30.0
    assert settings.retention == Retention(completed=604800.0, cancelled=604800.0, dead=None)


def test_what_is_said_of_the_duties_reaches_them() -> None:
    said: dict[str, Any] = {
        "recovery_interval": 1.0, "start_timeout": 2.0, "start_check_interval": 3.0, "probe_interval": 4.0,
        "prune_interval": 5.0, "schedule_interval": 6.0, "retention": Retention(completed=7.0), "ageing": 8.0,
        "failing_queues": ("mail",), "sample_interval": 12.0, "fold_interval": 13.0,
    }  # fmt: skip
    duties = make_settings(heartbeat_interval=9.0, leader_lease=11.0, **said).coordinator
    assert duties == CoordinatorSettings(stale_after=27.0, lease=11.0, **said)
    assert all(getattr(duties, name) != field.default for name, field in duties.__dataclass_fields__.items())


def test_none_means_the_default() -> None:
    assert make_settings(concurrency=None, worker_id="w") == make_settings(worker_id="w")


def test_values_in_plain_units() -> None:
    settings = make_settings(
        concurrency=7, types="a, b", queues=["q"], capabilities=("general", "ml"), resources=Resources(cpu=2),
        worker_id="w1", poll_interval="50ms", heartbeat_interval="2s", shutdown_timeout=0, job_timeout="2h", burst=True,
    )  # fmt: skip
    assert (settings.types, settings.queues, settings.capabilities) == (("a", "b"), ("q",), ("general", "ml"))
    assert (settings.poll_interval, settings.stale_after, settings.shutdown_timeout) == (0.05, 6.0, 0.0)
    assert (settings.job_timeout, settings.worker_id, settings.burst) == (7200.0, "w1", True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("concurrency", 0), ("concurrency", 10_001), ("concurrency", 1.5), ("poll_interval", 0), ("poll_interval", "x"),
        ("heartbeat_interval", "-1s"), ("job_timeout", 0), ("types", "a,,b"), ("types", ""),
        ("types", 5), ("types", [1]), ("queues", []), ("max_jobs", 0), ("max_memory", "1Mi"), ("process_slots", 0),
        ("resources", {"cpu": 4}), ("resources", 8), ("ageing", 0), ("ageing", "-1m"),
        ("capabilities", "two words"), ("worker_id", "two words"), ("workers", 3), ("health", "8080"),
    ],
)  # fmt: skip
def test_wrong_values_name_the_setting(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name.replace("_", "[_ ]")):
        make_settings(**{name: value})


def test_an_id_is_made_of_host_process_and_chance() -> None:
    first, second = default_worker_id(), default_worker_id()
    assert first != second
    assert re.fullmatch(rf"\S+-{os.getpid()}-[0-9a-f]{{8}}", first)


def test_a_host_name_with_odd_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "my host!" + "x" * 300)
    assert make_settings().worker_id.startswith("my-host-xxx")
    monkeypatch.setattr("socket.gethostname", lambda: "")
    assert make_settings().worker_id.startswith("host-")


def test_an_app_without_resources() -> None:
    async def main() -> None:
        async with no_lifespan() as nothing:
            assert nothing is None

    asyncio.run(main())
