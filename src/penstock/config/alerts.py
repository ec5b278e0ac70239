"""What a config says of alerts: its rules and its sinks. URLs and secrets of sinks are never shown, nor told in errors.

[alerts]
sinks = ["log", { webhook = "https://ops.example/alerts", secret = "whsec_…" }, { slack = "https://hooks.slack.com/…" }]

[alerts.rules]
high_timeout_rate = { threshold = 20, for = "2m" }
overlong_run = false
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from penstock.domain.duration import format_duration, format_size, parse_duration, parse_size
from penstock.domain.errors import ConfigError, OutboundRefused
from penstock.domain.options import check_name
from penstock.domain.texts import brief
from penstock.observe.alerts.catalogue import RULES, check_rule
from penstock.observe.alerts.settings import RuleSettings, SinkSpec, default_rule

RULES_EXAMPLE = '{"high_timeout_rate": {"threshold": 20, "for": "2m"}}'
SINKS_EXAMPLE = '["log", {"slack": "https://hooks.slack.com/…"}]'
SINK_FORM = '"log", { webhook = "https://…", secret = "whsec_…" } or { slack = "https://…" }'
THRESHOLD_MAX = 10**9
MASK = "***"


# Rules


def read_rules(value: object, name: str) -> dict[str, RuleSettings]:
    """Those that are named, whole; in the environment they are JSON."""
    given = _from_json(value, name, RULES_EXAMPLE) if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise ConfigError(f"{name} is not possible: write [{name}] and below it {_rule_form('high_timeout_rate')}")
    return {rule: _rule(rule, given[rule], f"{name}.{rule}") for rule in given}


def show_rules(rules: Mapping[str, RuleSettings]) -> str:
    return msgspec.json.encode({name: _written(name, rule) for name, rule in rules.items()}).decode()


def _rule(rule: str, given: object, name: str) -> RuleSettings:
    try:
        check_rule(rule)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    spec = RULES[rule]
    table = {"on": given} if isinstance(given, bool) else given
    known = ["on", *(["threshold"] if spec.unit else []), "for"]
    if not isinstance(table, dict) or set(table) - set(known):
        raise ConfigError(f"{name}={brief(given)} is not possible: it takes {', '.join(known)}: {_rule_form(rule)}")
    found = default_rule(rule)
    if "on" in table:
        found = replace(found, on=_switch(table["on"], f"{name}.on"))
    if "threshold" in table:
        found = replace(found, threshold=_threshold(table["threshold"], spec.unit, f"{name}.threshold"))
    return replace(found, hold=parse_duration(table["for"], f"{name}.for")) if "for" in table else found


def _switch(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={brief(value)} is neither true nor false")
    return value


def _threshold(value: Any, unit: str | None, name: str) -> float:
    if unit == "duration":
        return parse_duration(value, name)
    if unit == "size":
        return float(parse_size(value, name))
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= THRESHOLD_MAX:
        raise ConfigError(f"{name}={brief(value)} is not possible: a number of zero or more, such as 20")
    return float(value)


def _rule_form(rule: str) -> str:
    unit = RULES[rule].unit
    threshold = {"number": "threshold = 20, ", "duration": 'threshold = "5m", ', "size": 'threshold = "1Gi", '}
    return f'{rule} = {{ {threshold[unit] if unit else ""}for = "1m" }}, or {rule} = false'


def _written(name: str, rule: RuleSettings) -> dict[str, object] | bool:
    """What differs from the default, as a person would write it."""
    if not rule.on:
        return False
    unit, default = RULES[name].unit, default_rule(name)
    shown = {"duration": format_duration(rule.threshold), "size": format_size(int(rule.threshold))}
    threshold = {} if rule.threshold == default.threshold else {"threshold": shown.get(unit or "", rule.threshold)}
    return {**threshold, **({} if rule.hold == default.hold else {"for": format_duration(rule.hold)})} or True


# Sinks


def read_sinks(value: object, name: str) -> tuple[SinkSpec, ...]:
    """In the environment they are JSON, or the one word log."""
    if isinstance(value, str):
        value = ["log"] if value == "log" else _from_json(value, name, SINKS_EXAMPLE)
    if not isinstance(value, list) or not value:
        raise ConfigError(f'{name} is neither a list of sinks nor "off": each is {SINK_FORM}')
    found = [_sink(one, f"{name}[{number}]") for number, one in enumerate(value)]
    names = [spec.name for spec in found]
    for one in names:
        if names.count(one) > 1:
            raise ConfigError(f'{name}: two sinks are called {one!r}: give one of them another name = "…"')
    return tuple(found)


def show_sinks(sinks: tuple[SinkSpec, ...]) -> str:
    """Who they are, and nothing by which anybody could send to them."""
    return ", ".join(spec.name if spec.kind == spec.name else f"{spec.name} ({spec.kind})" for spec in sinks)


def _sink(given: object, name: str) -> SinkSpec:
    table = {"log": True} if given == "log" else given
    kinds = [kind for kind in ("log", "webhook", "slack") if isinstance(table, dict) and kind in table]
    if not isinstance(table, dict) or len(kinds) != 1:
        raise ConfigError(f"{name} is not a sink: write {SINK_FORM}")
    [kind] = kinds
    unknown = set(table) - {kind, "name", *(["secret"] if kind == "webhook" else [])}
    if unknown:
        raise ConfigError(f"{name}: {', '.join(sorted(unknown))} means nothing to a {kind} sink: write {SINK_FORM}")
    called = check_name(table.get("name", kind), f"{name}.name")
    if kind == "log":
        return SinkSpec("log", called)
    url = read_url(table[kind], f"{name}.{kind}")
    if kind == "slack":
        return SinkSpec("slack", called, url)
    secrets = _secrets(table["secret"], f"{name}.secret") if "secret" in table else ()
    return SinkSpec("webhook", called, url, secrets)


def _secrets(value: object, name: str) -> tuple[str, ...]:
    """One, or while it is changed for another, several."""
    from penstock.outbound.signing import Signer

    secrets = [value] if isinstance(value, str) else value
    if not isinstance(secrets, list) or not all(isinstance(one, str) for one in secrets):
        raise ConfigError(f"{name} is not a text, nor a list of texts")
    if not secrets:
        raise ConfigError(f"{name} is empty: give a secret, or leave it out for messages that are not signed")
    try:
        Signer(secrets)
    except ConfigError as error:  # After "secret:" its first word would be hidden as one.
        raise ConfigError(f"{name} is not possible: {error}") from None
    return tuple(secrets)


# URLs


def read_url(value: object, name: str) -> str:
    """One that can be sent to, wherever that is."""
    from penstock.outbound.target import parse

    if not isinstance(value, str):
        raise ConfigError(f"{name} is not a text: write a URL, such as https://ops.example/alerts")
    try:
        parse(value)
    except OutboundRefused as error:
        raise ConfigError(f"{name}: {error}") from None
    return value


def show_url(url: str) -> str:
    """Where it leads, without what may be secret."""
    from penstock.outbound.target import parse

    return f"{parse(url)!r}/{MASK}"


def _from_json(text: str, name: str, example: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        raise ConfigError(f"{name} is not JSON: write it like {example}") from None
