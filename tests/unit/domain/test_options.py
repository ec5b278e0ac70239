"""Options: every value is checked where it is written, and the message names the option."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from penstock.domain import options
from penstock.domain.clock import to_us
from penstock.domain.errors import ConfigError
from penstock.domain.options import (
    POLICIES_REMEMBERED_MAX,
    Backoff,
    Concurrency,
    Exponential,
    Fixed,
    Options,
    Policy,
    RateLimit,
    Resources,
    Tenant,
    Unique,
    check_name,
    decode_policy,
    make_options,
)

ID = "01ba60d3-3800-7000-89c8-e1155c9a571b"
AT = datetime(2030, 1, 1, tzinfo=UTC)


def test_the_defaults() -> None:
    options = Options()
    assert (options.queue, options.priority, options.capability) == ("default", 0, "general")
    assert options.policy == Policy(3, Backoff(5.0, 2.0, 3600.0), 300.0, None, False, False)
    assert make_options() is make_options()


@pytest.mark.parametrize(
    ("name", "value", "field", "stored"),
    [
        ("queue", "mail", "queue", "mail"),
        ("capability", "ml", "capability", "ml"),
        ("priority", -100, "priority", -100),
        ("resources", Resources(cpu=1), "resources", Resources(1.0)),
        ("tenant", Tenant("acme"), "tenant", Tenant("acme")),
        ("tags", ["a", "b"], "tags", ("a", "b")),
        ("unique", Unique("k"), "unique", Unique("k")),
        ("rate_limit", RateLimit("k", 1), "rate_limit", RateLimit("k", 1)),
        ("limit", Concurrency("k", 1), "limit", Concurrency("k", 1)),
        ("delay", "5m", "delay", 300.0),
        ("delay", None, "delay", None),
        ("at", AT, "at_us", to_us(AT)),
        ("at", None, "at_us", None),
        ("id", ID.upper(), "job_id", ID),
        ("id", None, "job_id", None),
    ],
)
def test_options_of_a_job(name: str, value: Any, field: str, stored: Any) -> None:
    assert getattr(make_options(**{name: value}), field) == stored


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("attempts", 1000, 1000),
        ("snoozes", 0, 0),
        ("snoozes", 1_000_000, 1_000_000),
        ("backoff", Fixed("30s"), Backoff(30.0, 1.0, None)),
        ("timeout", "2h", 7200.0),
        ("timeout", None, None),
        ("ttl", timedelta(minutes=5), 300.0),
        ("remove_on_complete", True, True),
        ("remove_on_fail", 10, 10),
    ],
)
def test_options_of_its_policy(name: str, value: Any, stored: Any) -> None:
    assert getattr(make_options(**{name: value}).policy, name) == stored


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queue", ""), ("queue", "two words"), ("queue", None), ("queue", "q" * 201), ("capability", "a\nb"),
        ("priority", 101), ("priority", -101), ("priority", 1.0), ("priority", True), ("priority", "1"),
        ("attempts", 0), ("attempts", 1001), ("attempts", None), ("snoozes", -1), ("snoozes", 1_000_001),
        ("snoozes", 1.5), ("snoozes", None), ("snoozes", True), ("backoff", 5), ("backoff", None),
        ("timeout", 0), ("timeout", "-1s"), ("ttl", 0), ("ttl", "soon"),
        ("remove_on_complete", 0), ("remove_on_complete", -1), ("remove_on_fail", "yes"), ("remove_on_fail", 1.5),
        ("resources", {"cpu": 1}), ("tenant", "acme"), ("unique", "key"), ("rate_limit", 5), ("limit", 5),
        ("worker_concurrency", 0), ("worker_concurrency", -1), ("worker_concurrency", True),
        ("worker_concurrency", 1.5),
        ("worker_concurrency", "5"), ("worker_concurrency", 10_001),
        ("tags", "one"), ("tags", ["two words"]), ("tags", ["t"] * 51), ("delay", "later"), ("delay", -1),
        ("at", datetime(2030, 1, 1)), ("at", "2030-01-01"), ("at", 5), ("id", "mine"), ("id", 5),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_wrong_values_name_the_option(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        make_options(**{name: value})


def test_an_unknown_option_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'retries' does not exist.*attempts.*unique"):
        make_options(retries=3)


def test_delay_and_at_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        make_options(delay=1, at=AT)
    assert make_options(delay=None, at=AT).at_us == to_us(AT)


def test_overrides_keep_the_rest() -> None:
    base = make_options(queue="mail", attempts=9, timeout="1m")
    options = make_options(base, priority=5, attempts=2)
    assert (options.queue, options.priority) == ("mail", 5)
    assert (options.policy.attempts, options.policy.timeout) == (2, 60.0)
    assert base.priority == 0


def test_a_stored_policy_leaves_defaults_out_and_comes_back() -> None:
    assert msgspec.json.encode(Policy()) == b"{}"
    policy = Policy(attempts=9, backoff=Fixed(1), timeout=None, ttl=5.0, remove_on_complete=True, remove_on_fail=7)
    assert msgspec.json.decode(msgspec.json.encode(policy), type=Policy) == policy


@pytest.mark.parametrize("tenant", [Tenant(""), Tenant("a" * 201), Tenant("a", "b" * 201), Tenant(5), Tenant("a", 5)])  # type: ignore[arg-type]
def test_tenants_that_are_not_possible(tenant: Tenant) -> None:
    with pytest.raises(ConfigError, match=r"tenant=.* is not possible: texts of 1 to 200 characters"):
        make_options(tenant=tenant)


def test_stored_options_come_back() -> None:
    options = make_options(
        queue="q",
        resources=Resources(1, "1Gi"),
        tenant=Tenant("a", "b"),
        tags=["x"],
        unique=Unique("k", 5, "type"),
        attempts=7,
    )
    assert msgspec.json.decode(msgspec.json.encode(options), type=Options) == options


def test_backoffs() -> None:
    assert Exponential("1s", cap="1h") == Backoff(1.0, 2.0, 3600.0)
    assert Exponential() == Backoff()
    assert Fixed() == Backoff(5.0, 1.0, None)
    with pytest.raises(ConfigError, match="backoff cap"):
        Exponential("1s", cap="never")


@pytest.mark.parametrize(
    "values",
    [{"cpu": -1}, {"cpu": "1"}, {"gpu": True}, {"cpu": float("nan")}, {"gpu": float("inf")}, {"memory": "lots"},
     {"memory": -1}, {"memory": "-8Gi"}],
)  # fmt: skip
def test_resources_that_are_not_possible(values: Any) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        Resources(**values)


def test_resources_are_in_plain_units() -> None:
    resources = Resources(cpu=4, memory="8Gi", gpu=1)
    assert (resources.cpu, resources.memory, resources.gpu) == (4.0, 8 * 2**30, 1.0)


@pytest.mark.parametrize("key", ["", "k" * 201, None, 5])
def test_unique_keys_that_are_not_possible(key: Any) -> None:
    with pytest.raises(ConfigError, match="unique key"):
        Unique(key)


def test_unique_with_a_period() -> None:
    assert Unique("k", per="1h").per == Unique("k", per="hour").per == 3600.0
    for per in ("often", 0, -1):
        with pytest.raises(ConfigError, match="unique per"):
            Unique("k", per=per)


@pytest.mark.parametrize("scope", ["", "everything", "tenants", None, 5])
def test_unique_scopes_that_do_not_exist(scope: Any) -> None:
    with pytest.raises(ConfigError, match=r"unique scope .* does not exist; use one of: all, type, queue, tenant"):
        Unique("k", scope=scope)


def test_rate_limits() -> None:
    assert RateLimit("k", 100, per="minute").per == 60.0
    assert RateLimit("k", 100, per="90s").per == 90.0
    for requests, per in ((0, "second"), (1.5, "second"), (1, 0)):
        with pytest.raises(ConfigError, match="above zero"):
            RateLimit("k", requests, per=per)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -1, 1.5, None])
def test_concurrency_limits_that_are_not_possible(limit: Any) -> None:
    with pytest.raises(ConfigError, match="1 or more"):
        Concurrency("k", limit)


def test_ordered_keys() -> None:
    assert Concurrency("k", 1, ordered=True) != Concurrency("k", 1)
    with pytest.raises(ConfigError, match=r"one job at a time: write Concurrency\('k', 1, ordered=True\), or .* if 3"):
        Concurrency("k", 3, ordered=True)
    with pytest.raises(ConfigError, match="ordered='yes' for 'k' is not possible: True or False"):
        Concurrency("k", 1, ordered="yes")  # type: ignore[arg-type]


def test_stored_limits_of_before_there_was_an_order_are_not_ordered() -> None:
    ordered = make_options(limit=Concurrency("k", 1, ordered=True))
    assert msgspec.json.decode(msgspec.json.encode(ordered), type=Options) == ordered
    assert msgspec.json.decode(b'{"limit":{"key":"k","limit":1}}', type=Options).limit == Concurrency("k", 1)


@pytest.mark.parametrize("name", ["a", "Größe", "a.b:c/d@e-f_g", "x" * 200, "日本"])
def test_usable_names(name: str) -> None:
    assert check_name(name, "queue") == name


def test_a_stored_policy_is_decoded_once_and_a_broken_one_is_the_default() -> None:
    assert decode_policy(None) == Policy()
    assert decode_policy('{"a":9}') == Policy(attempts=9)
    assert decode_policy('{"a":9}') is decode_policy('{"a":9}')
    assert decode_policy("not json") == Policy()


def test_remembered_policies_are_bounded() -> None:
    for attempts in range(1, POLICIES_REMEMBERED_MAX + 10):
        assert decode_policy(f'{{"a":{attempts}}}').attempts == attempts
    assert len(options._policies) <= POLICIES_REMEMBERED_MAX
