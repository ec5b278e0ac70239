"""Schedules in penstock.toml: read, shown, installed by the app that has their types, refused where they are wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock import App, ConfigError, Tenant, Unique
from penstock.client.schedules.installing import Configured, install
from penstock.config.load import load

NIGHTLY = """
[schedules.nightly]
type = "cleanup"
payload = { days = 3 }
cron = "0 3 * * *"
timezone = "Europe/Berlin"
start = 2030-01-31T12:00:00Z
limit = 5
misfire = "skip"
grace = "5m"
queue = "night"
attempts = 5
tenant = "acme/eu"
tags = ["a"]
unique = "cleanup:{days}"
unique_per = "1h"
"""

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str) -> Path:
        path = tmp_path / "penstock.toml"
        path.write_text(f'store = "sqlite:///{tmp_path}/jobs.db"\n{text}')
        return path

    return write_file


def test_a_table_is_a_schedule(write: Write) -> None:
    config = load(write(NIGHTLY))
    assert config["schedules"] == (
        Configured(
            "nightly",
            "cleanup",
            {"days": 3},
            {"queue": "night", "attempts": 5, "tags": ["a"], "tenant": Tenant("acme", "eu"),
             "unique": Unique("cleanup:{days}", "1h")},
            {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "start": datetime(2030, 1, 31, 12, tzinfo=UTC),
             "limit": 5, "misfire": "skip", "grace": "5m"},
        ),
    )  # fmt: skip
    key = config.settings["schedules"].key
    assert key.read(key.show(config["schedules"])) == config["schedules"]


def plans_of(app: App) -> None:
    assert app.config is not None
    asyncio.run(install(app.store, app._plans(app.config["schedules"])))


def test_the_app_that_has_the_type_installs_it(write: Write) -> None:
    app = App.from_config(write(NIGHTLY))

    @app.job(queue="default", priority=4)
    async def cleanup(days: int) -> None: ...

    plans_of(app)
    (found,) = app.schedules.list()
    assert (found.name, found.type, found.payload, found.queue) == ("nightly", "cleanup", {"days": 3}, "night")
    assert (found.timezone, found.limit, found.declared, found.tags) == ("Europe/Berlin", 5, True, ("a",))
    app.close()


def test_an_app_that_does_not_have_the_type_leaves_it_to_others(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    app = App.from_config(write(NIGHTLY.replace('"cleanup"', '"clenup"')))

    @app.job
    async def cleanup(days: int) -> None: ...

    caplog.set_level(logging.WARNING)
    plans_of(app)
    assert app.schedules.list() == []
    assert "the config schedules nightly of type clenup, which this app does not have; its types are: cleanup" in (
        caplog.text
    )
    app.close()


def test_one_name_in_the_code_and_in_the_config_is_an_error(write: Write) -> None:
    app = App.from_config(write(NIGHTLY))

    @app.job
    async def cleanup(days: int) -> None: ...

    app.schedule("nightly", job=cleanup.bind(1), every="1h")
    with pytest.raises(ConfigError, match="two schedules are declared as 'nightly', in the code and in the config"):
        plans_of(app)


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('unique = "cleanup:{days}"', 'unique = "cleanup:{hours}"', "hours"),
        ("{ days = 3 }", '{ days = "many" }', "days"),
        ("{ days = 3 }", "{ hours = 3 }", "missing required field `days`"),
    ],
)
def test_a_payload_that_the_handler_does_not_take_is_told_when_the_worker_starts(
    write: Write, right: str, wrong: str, told: str
) -> None:
    assert right in NIGHTLY
    app = App.from_config(write(NIGHTLY.replace(right, wrong)))

    @app.job
    async def cleanup(days: int) -> None: ...

    with pytest.raises(ConfigError, match=rf"^schedules\.nightly: .*{told}"):
        plans_of(app)


HEAD = '[schedules.nightly]\ntype = "cleanup"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("schedules = 5", "schedules=5 is not possible: write \\[schedules.nightly\\]"),
        ("[schedules]\nnightly = 5", "schedules.nightly=5 has no type of job"),
        ('[schedules.nightly]\ncron = "0 3 * * *"', "has no type of job"),
        (HEAD, "schedules.nightly: when\\? Give cron= or every="),
        (HEAD + 'corn = "0 3 * * *"', "schedules.nightly: corn= is not an option of a schedule; did you mean cron="),
        (HEAD + 'cron = "0 3 * *"', "schedules.nightly: .*wrong number of fields"),
        (HEAD + 'every = "1h"\ntimezone = "Berlin"', "did you mean 'Europe/Berlin'"),
        (HEAD + 'every = "1h"\nstart = 2030-01-01T00:00:00', "has no time zone"),
        (HEAD + 'every = "1h"\nstart = "soon"', "start='soon' is not a time"),
        (HEAD + 'every = "1h"\npayload = 5', "payload=5 is not a table"),
        (HEAD + 'every = "1h"\npriority = 500', "priority=500 is not possible"),
        (HEAD + 'every = "1h"\nunique_per = "1h"', "unique_per and unique_scope say more of unique"),
        (HEAD + 'every = "1h"\nlimit = 0', "limit=0 is not possible"),
        ('[schedules."two words"]\ntype = "x"\nevery = "1h"', "is not a usable name"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write: Write, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=f"penstock.toml.*{told}"):
        load(write(text))


def test_in_the_environment_they_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SCHEDULES", '{"nightly": {"type": "cleanup", "every": "1h"}}')
    assert [one.name for one in load()["schedules"]] == ["nightly"]
    monkeypatch.setenv("PENSTOCK_SCHEDULES", "nightly=cleanup")
    with pytest.raises(ConfigError, match="PENSTOCK_SCHEDULES: schedules is not JSON"):
        load()
