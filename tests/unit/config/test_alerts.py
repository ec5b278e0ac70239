"""What a config may say of alerts, and that nothing of it tells a secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.config.keys import BY_NAME
from penstock.config.load import load
from penstock.domain.errors import ConfigError
from penstock.domain.failure.secrets import hide_secrets
from penstock.observe.alerts.catalogue import RULES
from penstock.observe.alerts.settings import AlertSettings, RuleSettings, SinkSpec

Toml = Callable[[str], Path]

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
URL = "http://10.0.0.7:9093/hooks/T0KEN"
HOOK = {"webhook": URL, "secret": SECRET, "name": "ops"}


def read(name: str, value: Any) -> Any:
    return BY_NAME[name].read(value)


def test_nothing_said_is_every_rule_as_it_is_and_the_log(toml: Toml) -> None:
    toml("")
    settings = load().alerts()
    assert settings == AlertSettings()
    assert settings.sinks == (SinkSpec("log", "log"),)
    assert all(settings.rule(name).on for name in RULES)
    assert (settings.rule("dead_letter_buildup").threshold, settings.rule("stale_jobs").threshold) == (100, 300)


def test_all_that_can_be_said(toml: Toml) -> None:
    toml(f"""
critical_types = ["charge"]
[alerts]
interval = "30s"
cap_per_hour = "off"
heartbeat_url = "{URL}"
sinks = ["log", {{ webhook = "{URL}", secret = ["{SECRET}"], name = "ops" }}, {{ slack = "https://chat.example/x" }}]
[alerts.rules]
high_timeout_rate = {{ threshold = 20, for = "2m" }}
overlong_run = false
[alerts.rules.store_filling]
threshold = "1Gi"
""")
    config = load()
    settings = config.alerts()
    assert (settings.interval, settings.cap_per_hour, settings.heartbeat_url) == (30, None, URL)
    assert settings.critical_types == ("charge",)
    assert settings.sinks == (
        SinkSpec("log", "log"), SinkSpec("webhook", "ops", URL, (SECRET,)),
        SinkSpec("slack", "slack", "https://chat.example/x"),
    )  # fmt: skip
    assert settings.rule("high_timeout_rate") == RuleSettings(True, 20, 120)
    assert settings.rule("overlong_run") == RuleSettings(False, 86400)
    assert settings.rule("store_filling") == RuleSettings(True, 2**30, 60)
    assert config.worker_settings()["alerts"] == settings


def test_nobody_may_be_told() -> None:
    assert read("alerts.sinks", "off") is None
    assert read("alerts.sinks", ["off"]) is None


def test_what_is_shown_has_neither_urls_nor_secrets() -> None:
    sinks = read("alerts.sinks", ["log", HOOK])
    shown = [BY_NAME["alerts.sinks"].show(sinks), BY_NAME["alerts.heartbeat_url"].show(URL), repr(sinks)]
    assert shown[0] == "log, ops (webhook)"
    assert shown[1] == "http://10.0.0.7:9093/***"
    assert not any(part in text for text in shown for part in (SECRET, "T0KEN"))
    assert "T0KEN" not in repr(AlertSettings(sinks=sinks, heartbeat_url=URL))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], 'is neither a list of sinks nor "off"'),
        ([{}], "alerts.sinks[0] is not a sink: write"),
        (["log", 5], "alerts.sinks[1] is not a sink"),
        ([{"webhook": URL, "slack": URL}], "is not a sink"),
        ([{"slack": URL, "secret": SECRET}], "secret means nothing to a slack sink"),
        ([{"webhook": URL, "secret": []}], "is empty: give a secret, or leave it out"),
        ([{"webhook": "ftp://x/T0KEN"}], "it has to begin with http:// or https://"),
        ([{"webhook": 5}], "write a URL"),
        ([{"webhook": URL, "secret": "T0KEN"}], "the secret of a webhook has to be base64 of 24 bytes or more"),
        ([{"webhook": URL, "secret": 5}], "is not a text, nor a list of texts"),
        ([HOOK, HOOK], "two sinks are called 'ops'"),
        ([{"webhook": URL, "name": "a b"}], "is not a usable name"),
        ("{T0KEN", "is not JSON"),
    ],
)
def test_a_sink_that_is_wrong_is_named_without_what_is_secret(value: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read("alerts.sinks", value)
    assert words in str(caught.value)
    assert "T0KEN" not in str(caught.value)
    assert "or 'off'" not in str(caught.value)
    assert words in hide_secrets(str(caught.value))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "write [alerts.rules]"),
        ({"stale": True}, "did you mean stale_jobs?"),
        ({"xyzzy": True}, "the rules are: high_timeout_rate, "),
        ({"stale_jobs": 5}, 'it takes on, threshold, for: stale_jobs = { threshold = "5m", for = "1m" }'),
        ({"stale_jobs": {"treshold": 5}}, "it takes on, threshold, for"),
        ({"final_failure": {"threshold": 5}}, "it takes on, for: final_failure = { for"),
        ({"stale_jobs": {"on": "yes"}}, "alerts.rules.stale_jobs.on='yes' is neither true nor false"),
        ({"stale_jobs": {"for": "soon"}}, "alerts.rules.stale_jobs.for='soon'"),
        ({"stale_jobs": {"threshold": "much"}}, "alerts.rules.stale_jobs.threshold='much'"),
        ({"store_filling": {"threshold": "much"}}, "alerts.rules.store_filling.threshold='much'"),
        ({"dead_letter_buildup": {"threshold": -1}}, "a number of zero or more"),
        ({"dead_letter_buildup": {"threshold": True}}, "a number of zero or more"),
        ("{", "is not JSON"),
    ],
)
def test_a_rule_that_is_wrong_is_named_with_the_fix(value: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read("alerts.rules", value)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["x", 5, "ftp://hc.example"])
def test_a_heartbeat_url_that_is_none(value: object) -> None:
    with pytest.raises(ConfigError, match=r"alerts\.heartbeat_url"):
        read("alerts.heartbeat_url", value)
