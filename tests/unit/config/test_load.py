"""Where values come from, in rising precedence, and what of a wrong one is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.config.keys import KEYS
from penstock.config.load import load
from penstock.coordinator.settings import Retention
from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Limit
from penstock.domain.options import Concurrency, RateLimit, Resources
from penstock.observe.health import Limits
from penstock.worker.settings import WorkerSettings, make_settings

Toml = Callable[[str], Path]


def test_without_anything_every_key_has_its_default() -> None:
    config = load()
    assert config.file is None
    assert {setting.source for setting in config.settings.values()} == {"default"}
    assert list(config.settings) == [key.name for key in KEYS]


def test_the_defaults_are_those_of_a_worker() -> None:
    assert make_settings(**load().worker_settings() | {"worker_id": "w"}) == make_settings(worker_id="w")


def test_every_key_of_a_worker_reaches_its_settings(toml: Toml) -> None:
    toml("""
        history = "failures"
        [retention]
        completed = "1d"
        cancelled = 60
        dead = "30d"
        [worker]
        types = ["a", "b"]
        queues = "mail, reports"
        capabilities = ["ml"]
        id = "w1"
        concurrency = 7
        process_slots = 3
        job_timeout = "2h"
        max_jobs = 1000
        max_memory = "1GB"
        poll_interval = "50ms"
        heartbeat_interval = 2
        shutdown_timeout = 0
        health = "0.0.0.0:8080"
        log_payloads = true
        resources.cpu = 4
        resources.memory = "8Gi"
        [coordinator]
        recovery_interval = "1s"
        [queue]
        ageing = "10m"
        [health]
        min_workers = 3
        dead_letter_threshold = 5
        [rate_limits]
        stripe_api = { requests = 100, per = "second" }
        "shop:{shop}" = { requests = 2, per = "10s" }
        github = "5000/hour"
        "queue:mail" = { requests = 10, per = "minute" }
        [concurrency_limits]
        "type:a" = 5
        "shop:{shop}" = 1
        [tenant_weights]
        acme = 3
        "beta/eu" = 2
    """)
    assert make_settings(**load().worker_settings()) == WorkerSettings(
        types=("a", "b"), queues=("mail", "reports"), capabilities=("ml",), worker_id="w1", concurrency=7,
        process_slots=3, job_timeout=7200.0, max_jobs=1000, max_memory=10**9, poll_interval=0.05,
        heartbeat_interval=2.0, shutdown_timeout=0.0, health="0.0.0.0:8080", log_payloads=True,
        health_limits=Limits(min_workers=3, dead_letter_threshold=5), recovery_interval=1.0,
        resources=Resources(cpu=4, memory=8 * 2**30), history="failures", ageing=600.0,
        retention=Retention(completed=86400.0, cancelled=60.0, dead=30 * 86400.0),
        limits=(
            Limit("key:shop:{shop}", 1, None), Limit("key:type:a", 5, None),
            Limit("rate:github", 5000, 3600 * MICROSECONDS), Limit("rate:queue:mail", 10, 60 * MICROSECONDS),
            Limit("rate:shop:{shop}", 2, 10 * MICROSECONDS), Limit("rate:stripe_api", 100, MICROSECONDS),
        ),
        tenant_weights={"acme": 3, "beta/eu": 2},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a = 5", r"rate_limits\.a=5 is not possible: it has requests and per"),
        ("a = { requests = 0 }", r"rate_limits\.a: rate limit 'a' of 0 per 'second' is not possible"),
        ("a = { requests = -1, per = 'minute' }", "both must be above zero"),
        ("a = { requests = 5, per = 'fortnight' }", "fortnight"),
        ("a = { requests = 5, every = 'minute' }", "it has requests and per"),
        ("a = { per = 'minute' }", "it has requests and per"),
        ("a = 'many/second'", "'many'"),
        ("'queue:two words' = '5/second'", r"rate_limits\.queue:two words: queue='two words' is not a usable name"),
        ("'type:' = '5/second'", "type='' is not a usable name"),
        ("'store:{' = '5/second'", "is not a usable template"),
    ],
)
def test_rate_limits_that_are_not_possible(text: str, wrong: str, toml: Toml) -> None:
    toml(f"[rate_limits]\n{text}\n")
    with pytest.raises(ConfigError, match=wrong):
        load()


def test_rate_limits_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_RATE_LIMITS", "stripe_api=100/second, a:b=5/1m")
    assert load()["rate_limits"] == (RateLimit("a:b", 5, "minute"), RateLimit("stripe_api", 100))
    monkeypatch.setenv("PENSTOCK_RATE_LIMITS", "stripe_api")
    with pytest.raises(ConfigError, match="write it like stripe_api=100/second"):
        load()
    monkeypatch.setenv("PENSTOCK_RATE_LIMITS", "a=1/second, b=2/second, a=3/second")
    with pytest.raises(ConfigError, match="'a' is there twice, as 1/second and as 3/second"):
        load()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a = 0", r"concurrency_limits\.a: concurrency limit 0 for 'a' is not possible"),
        ("a = -1", "1 or more"),
        ("a = 1.5", "1 or more"),
        ("a = true", "1 or more"),
        ("a = 'many'", "concurrency limit 'many'"),
        ("a = { limit = 5 }", "1 or more"),
        ("'queue:' = 5", "queue='' is not a usable name"),
        ("'type:{name}' = 5", r"type='{name}' is not a usable name"),
    ],
)
def test_concurrency_limits_that_are_not_possible(text: str, wrong: str, toml: Toml) -> None:
    toml(f"[concurrency_limits]\n{text}\n")
    with pytest.raises(ConfigError, match=wrong):
        load()


def test_concurrency_limits_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CONCURRENCY_LIMITS", "queue:mail=5, store:{store_id}=1")
    config = load()
    assert config["concurrency_limits"] == (Concurrency("queue:mail", 5), Concurrency("store:{store_id}", 1))
    assert config.settings["concurrency_limits"].shown == "queue:mail=5, store:{store_id}=1"
    monkeypatch.setenv("PENSTOCK_CONCURRENCY_LIMITS", "5")
    with pytest.raises(ConfigError, match="write it like queue:reports=5"):
        load()


def test_without_any_config_a_worker_leaves_the_limits_as_they_are(toml: Toml, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load().worker_settings()["limits"] is None
    monkeypatch.setenv("PENSTOCK_RATE_LIMITS", "a=1/second")
    assert load().worker_settings()["limits"] == (Limit("rate:a", 1, MICROSECONDS),)
    monkeypatch.delenv("PENSTOCK_RATE_LIMITS")
    toml("[worker]\nconcurrency = 5\n")
    assert load().worker_settings()["limits"] == ()


@pytest.mark.parametrize("weight", ["0", "-1", "1.5", "true", "'heavy'", "1001"])
def test_weights_that_are_not_possible(weight: str, toml: Toml) -> None:
    toml(f"[tenant_weights]\nacme = {weight}\n")
    with pytest.raises(ConfigError, match=r"tenant_weights\.acme=.* is not possible: .* a whole number from 1 to 1000"):
        load()


def test_weights_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TENANT_WEIGHTS", "big corp=2, acme=3")
    assert load()["tenant_weights"] == {"acme": 3, "big corp": 2}
    monkeypatch.setenv("PENSTOCK_TENANT_WEIGHTS", "acme")
    with pytest.raises(ConfigError, match="'acme' is not a weight: write it like acme=3"):
        load()


@pytest.mark.parametrize("word", ["off", "none"])
def test_health_that_is_off_is_not_the_default(word: str, toml: Toml) -> None:
    toml(f"[worker]\nhealth = '{word}'\n")
    assert make_settings(**load().worker_settings()).health == "off"


def test_the_later_wins_and_says_so(toml: Toml, monkeypatch: pytest.MonkeyPatch) -> None:
    path = toml('store = "sqlite:///a.db"\n[worker]\nconcurrency = 5\npoll_interval = "1s"\nid = "from-file"\n')
    monkeypatch.setenv("PENSTOCK_WORKER_CONCURRENCY", "6")
    monkeypatch.setenv("PENSTOCK_WORKER_POLL_INTERVAL", "2s")
    config = load(flags={"worker.poll_interval": "3s", "worker.queues": None})
    found = {name: (setting.value, setting.source) for name, setting in config.settings.items()}
    assert found["store"] == ("sqlite:///a.db", str(path))
    assert found["worker.id"] == ("from-file", str(path))
    assert found["worker.concurrency"] == (6, "PENSTOCK_WORKER_CONCURRENCY")
    assert found["worker.poll_interval"] == (3.0, "--poll-interval")
    assert found["worker.queues"] == (None, "default")
    assert config.file == str(path)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_STORE", "")
    monkeypatch.setenv("PENSTOCK_CONFIG", "")
    monkeypatch.setenv("PENSTOCK_NOT_A_KEY", " ")
    assert load()["store"] is None


def test_variables_that_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_NO_SKIPS", "PENSTOCK_SERVICE_HOST", "PENSTOCK_SERVICE_PORT_HTTP", "PENSTOCK_PORT",
                 "PENSTOCK_PORT_8000_TCP_ADDR", "PENSTOCK_WORKER_SERVICE_PORT"):  # fmt: skip
        monkeypatch.setenv(name, "1")
    assert {setting.source for setting in load().settings.values()} == {"default"}


def test_the_file_named_by_the_argument_comes_before_the_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("penstock.toml", "variable.toml", "argument.toml"):
        (folder / name).write_text(f'[worker]\nid = "{name}"\n')
    assert load()["worker.id"] == "penstock.toml"
    monkeypatch.setenv("PENSTOCK_CONFIG", "variable.toml")
    assert load()["worker.id"] == "variable.toml"
    assert load("argument.toml")["worker.id"] == load(folder / "argument.toml")["worker.id"] == "argument.toml"
    assert load("argument.toml").file == str(folder / "argument.toml")


def test_a_file_that_is_named_must_exist(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=rf"there is no file {folder}/gone\.toml"):
        load("gone.toml")
    monkeypatch.setenv("PENSTOCK_CONFIG", "gone.toml")
    with pytest.raises(ConfigError, match=rf"^PENSTOCK_CONFIG: there is no file {folder}/gone\.toml"):
        load()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PENSTOCK_WORKER_CONCURRENCY", "many", "worker.concurrency='many' is not possible: a whole number from 1 to"),
        ("PENSTOCK_WORKER_CONCURRENCY", "0", "worker.concurrency=0 is not possible"),
        ("PENSTOCK_WORKER_PROCESSES", "257", "worker.processes=257 is not possible: a whole number from 1 to 256"),
        ("PENSTOCK_WORKER_POLL_INTERVAL", "soon", "worker.poll_interval='soon' is not a duration: write it like"),
        ("PENSTOCK_WORKER_JOB_TIMEOUT", "0", "worker.job_timeout=0.0 is not possible: more than zero; or 'off'"),
        ("PENSTOCK_WORKER_MAX_MEMORY", "8gb", "worker.max_memory='8gb' is not a size: write it like '512Mi', '8Gi'"),
        ("PENSTOCK_WORKER_MAX_MEMORY", "1Mi", "worker.max_memory='1Mi' is too little"),
        ("PENSTOCK_WORKER_RESOURCES_CPU", "inf", "worker.resources.cpu='inf' is not possible: a number"),
        ("PENSTOCK_WORKER_RESOURCES_CPU", "-1", "worker.resources.cpu='-1' is not possible"),
        ("PENSTOCK_WORKER_RESOURCES_GPU", "one", "worker.resources.gpu='one' is not possible: a number"),
        ("PENSTOCK_WORKER_RESOURCES_MEMORY", "-8Gi", "worker.resources.memory='-8Gi' is not a size"),
        ("PENSTOCK_QUEUE_AGEING", "0", "queue.ageing=0.0 is not possible: more than zero; or 'off'"),
        ("PENSTOCK_QUEUE_AGEING", "-5m", "queue.ageing='-5m' is not a duration"),
        ("PENSTOCK_WORKER_QUEUES", "a b", "worker.queues='a b' is not a usable name"),
        ("PENSTOCK_WORKER_ID", "a b", "worker.id='a b' is not a usable name"),
        ("PENSTOCK_WORKER_LOG_PAYLOADS", "maybe", "worker.log_payloads='maybe' is neither true nor false"),
        ("PENSTOCK_HISTORY", "some", "history='some' does not exist; use one of: all, default, failures, none"),
        ("PENSTOCK_RETENTION_DEAD", "off", "retention.dead='off' is not a duration"),
        ("PENSTOCK_LOG_LEVEL", "loud", "log.level='loud' does not exist; use one of: debug"),
        ("PENSTOCK_STORE", "jobs.db", "store 'jobs.db' is not understood: write it like sqlite:///jobs.db"),
    ],
)
def test_a_bad_value_names_key_value_source_and_fix(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)


def test_a_bad_flag_is_blamed_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"^--max-jobs: worker\.max_jobs=0 is not possible"):
        load(flags={"worker.max_jobs": "0"})


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql://me:hunter2@host/jobs?password=hunter2"
    monkeypatch.setenv("PENSTOCK_STORE", address)
    assert load().store() == address
    assert load().settings["store"].shown == "postgresql://me:***@host/jobs?password=***"
    monkeypatch.setenv("PENSTOCK_STORE", f"{address}&pool=0")
    with pytest.raises(ConfigError) as caught:
        load()
    assert "hunter2" not in str(caught.value)
    assert "me:***@host" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("PENSTOCK_WORKR_CONCURENCY", "PENSTOCK_WORKER_CONCURRENCY"),
        ("PENSTOCK_CONCURRENCY", "PENSTOCK_WORKER_CONCURRENCY"),
        ("PENSTOCK_STOER", "PENSTOCK_STORE"),
        ("PENSTOCK_CONFG", "PENSTOCK_CONFIG"),
    ],
)
def test_an_unknown_variable_names_the_nearest(name: str, near: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "secret")
    with pytest.raises(ConfigError, match=rf"{name} is not a key of penstock; did you mean {near}\?") as caught:
        load()
    assert "secret" not in str(caught.value)


def test_an_unknown_variable_without_a_near_one_lists_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_XYZZY", "1")
    with pytest.raises(ConfigError, match=r"PENSTOCK_XYZZY is not a key .* the keys are: PENSTOCK_STORE, "):
        load()


def test_a_missing_store_names_every_way_to_give_one(toml: Toml) -> None:
    with pytest.raises(ConfigError, match=r"--store URL.*PENSTOCK_STORE.*penstock\.toml in the current folder"):
        load().store()
    path = toml("[worker]\n")
    with pytest.raises(ConfigError, match=rf'store = "sqlite:///jobs.db" in {path}'):
        load().store()


@pytest.mark.parametrize(
    ("given", "resources"),
    [
        ({}, None),
        ({"cpu": "4"}, Resources(cpu=4)),
        ({"cpu": "0.5", "memory": "8GB", "gpu": "1"}, Resources(cpu=0.5, memory=8 * 10**9, gpu=1)),
        ({"memory": "off"}, None),
    ],
)
def test_resources_are_one_value(given: dict[str, str], resources: Resources | None) -> None:
    config = load(flags={f"worker.resources.{name}": value for name, value in given.items()})
    assert config.worker_settings()["resources"] == resources


@pytest.mark.parametrize(
    ("name", "value"),
    [("worker.types", ["all"]), ("worker.types", "ALL"), ("worker.id", "auto"), ("worker.process_slots", "auto"),
     ("worker.health", "off"), ("worker.job_timeout", "off"), ("worker.max_jobs", "none"), ("queue.ttl", "off"),
     ("retention.dead", "forever")],
)  # fmt: skip
def test_words_that_switch_a_key_off(name: str, value: Any) -> None:
    assert load(flags={name: value})[name] is None


def test_the_environment_of_this_process_is_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PENSTOCK_LOG_FORMAT", "JSON")
    assert load()["log.format"] == "json"
