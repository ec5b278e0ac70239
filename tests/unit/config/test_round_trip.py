"""Any valid value, written in the file or in the environment, is the value that is read, with the right source."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, strategies as st

from penstock.client.schedules.installing import Configured
from penstock.client.schedules.plan import KNOWN as WHEN
from penstock.config.keys import BY_NAME, KEYS, Key
from penstock.config.load import load
from penstock.domain.duration import UNIT_BYTES, UNIT_SECONDS
from penstock.domain.options import PERIODS, Concurrency, RateLimit
from penstock.observe.alerts.settings import RuleSettings, SinkSpec

Written = tuple[Any, Any]
"""What a person writes, as TOML or environment have it, and what it means."""

NAMES = st.text("abcXYZ019_-.:/@", min_size=1, max_size=20).filter(lambda name: name.lower() not in ("all", "auto"))
WHOLE_MAX = {"worker.processes": 256, "worker.process_slots": 1000}


def durations() -> st.SearchStrategy[Written]:
    units = st.tuples(st.integers(1, 1000), st.sampled_from(sorted(UNIT_SECONDS)))
    texts = units.map(lambda pair: (f"{pair[0]}{pair[1]}", pair[0] * UNIT_SECONDS[pair[1]]))
    return texts | st.integers(1, 10**6).map(lambda number: (number, float(number)))


def sizes() -> st.SearchStrategy[Written]:
    units = st.tuples(st.integers(100, 1000), st.sampled_from(["M", "MB", "Mi", "MiB", "G", "GB", "Gi", "GiB"]))
    texts = units.map(lambda pair: (f"{pair[0]}{pair[1]}", pair[0] * UNIT_BYTES[pair[1]]))
    return texts | st.integers(64 * 2**20, 2**50).map(lambda number: (number, number))


def names() -> st.SearchStrategy[Written]:
    several = st.lists(NAMES, min_size=1, max_size=3)
    return several.map(lambda found: (found, tuple(found))) | several.map(
        lambda found: (", ".join(found), tuple(found))
    )


def rates() -> st.SearchStrategy[Written]:
    keys = st.text("abc_:", min_size=1, max_size=10)
    rate = st.tuples(st.integers(1, 10**6), st.sampled_from([*PERIODS, "10s", "5m"]))
    several = st.dictionaries(keys, rate, min_size=1)

    def written(found: dict[str, tuple[int, str]]) -> Written:
        text = ", ".join(f"{key}={requests}/{per}" for key, (requests, per) in found.items())
        return text, tuple(RateLimit(key, *found[key]) for key in sorted(found))

    return several.map(written)


def concurrency() -> st.SearchStrategy[Written]:
    several = st.dictionaries(st.text("abc_:", min_size=1, max_size=10), st.integers(1, 10**6), min_size=1)

    def written(found: dict[str, int]) -> Written:
        text = ", ".join(f"{key}={limit}" for key, limit in found.items())
        return text, tuple(Concurrency(key, found[key]) for key in sorted(found))

    return several.map(written)


def weights() -> st.SearchStrategy[Written]:
    several = st.dictionaries(st.text("abcXYZ019_-.:/@", min_size=1), st.integers(1, 1000), min_size=1)

    def written(found: dict[str, int]) -> Written:
        return ", ".join(f"{org}={weight}" for org, weight in found.items()), dict(sorted(found.items()))

    return several.map(written)


def schedules() -> st.SearchStrategy[Written]:
    """As the environment has them; a file has tables, in test_schedules.py."""
    names = st.text("abc_", min_size=1, max_size=10)
    tables = st.fixed_dictionaries(
        {"type": names, "every": st.sampled_from(["15m", "1h"])},
        optional={"payload": st.just({"days": 7}), "tz": st.just("Europe/Berlin"), "limit": st.integers(1, 9),
                  "priority": st.integers(-100, 100), "tags": st.just(["a", "b"]), "grace": st.just("5m")},
    )  # fmt: skip

    def written(found: dict[str, dict[str, Any]]) -> Written:
        return json.dumps(found), tuple(meant(name, found[name]) for name in sorted(found))

    def meant(name: str, table: dict[str, Any]) -> Configured:
        when = {word: table[word] for word in WHEN if word in table}
        options: dict[str, Any] = {word: table[word] for word in ("priority", "tags") if word in table}
        return Configured(name, table["type"], table.get("payload", {}), options, when)

    return st.dictionaries(names, tables, min_size=1, max_size=3).map(written)


def rules() -> st.SearchStrategy[Written]:
    held = st.integers(1, 1000)
    tables = st.tuples(held, held).map(lambda pair: ({"threshold": pair[0], "for": f"{pair[1]}s"}, pair))

    def written(found: tuple[dict[str, Any], tuple[int, int]]) -> Written:
        table, (threshold, hold) = found
        meant = {"high_timeout_rate": RuleSettings(True, threshold, hold), "stale_jobs": RuleSettings(False, 300.0)}
        return json.dumps({"high_timeout_rate": table, "stale_jobs": False}), meant

    return tables.map(written)


def sinks() -> st.SearchStrategy[Written]:
    names = st.text("abc_", min_size=1, max_size=10).filter(lambda name: name != "log")
    return names.map(lambda name: (
        json.dumps(["log", {"slack": "https://chat.example/x", "name": name}]),
        (SinkSpec("log", "log"), SinkSpec("slack", name, "https://chat.example/x")),
    ))  # fmt: skip


def values(key: Key) -> st.SearchStrategy[Written]:
    kinds: dict[str, st.SearchStrategy[Written]] = {
        "duration": durations(),
        "size": sizes(),
        "names": names(),
        "name": NAMES.map(lambda name: (name, name)),
        "number": st.integers(0, 4000).map(lambda number: (number / 4, number / 4)),
        "whole number": st.integers(1, WHOLE_MAX.get(key.name, 10_000)).map(lambda number: (number, number)),
        "host:port": st.integers(0, 65535).map(lambda port: (f"[::1]:{port}", f"[::1]:{port}")),
        "rates": rates(),
        "limits": concurrency(),
        "weights": weights(),
        "schedules": schedules(),
        "rules": rules(),
        "sinks": sinks(),
        "URL": st.just(("https://hc.example/x", "https://hc.example/x")),
        "true or false": st.booleans().map(lambda value: (value, value)),
        "address": NAMES.map(lambda name: (f"sqlite:////data/{name}", f"sqlite:////data/{name}")),
    }
    words = [(word, word) for word in re.split(", | or ", key.kind.form)]
    valid = kinds.get(key.kind.form, st.sampled_from(words))
    return valid | st.sampled_from([(word, None) for word in key.none]) if key.none else valid


def settings() -> st.SearchStrategy[dict[str, Written]]:
    return st.fixed_dictionaries({}, optional={key.name: values(key) for key in KEYS})


def as_toml(written: Any) -> str:
    return json.dumps(written)


def as_text(written: Any) -> str:
    if isinstance(written, list):
        return ",".join(written)
    return str(written).lower() if isinstance(written, bool) else str(written)


@given(in_file=settings(), in_environment=settings())
def test_what_is_written_is_what_is_read(in_file: dict[str, Written], in_environment: dict[str, Written]) -> None:
    variables = {BY_NAME[name].variable: as_text(written) for name, (written, _) in in_environment.items()}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, clean | variables, clear=True):
        path = Path(folder) / "any.toml"
        path.write_text("".join(f"{name} = {as_toml(written)}\n" for name, (written, _) in in_file.items()))
        config = load(path)
    for key in KEYS:
        expected: tuple[Any, str] = (key.default, "default")
        if key.name in in_file:
            expected = (in_file[key.name][1], str(path))
        if key.name in in_environment:
            expected = (in_environment[key.name][1], key.variable)
        assert (config[key.name], config.settings[key.name].source) == expected


@given(st.data())
def test_what_is_shown_can_be_written_again(data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([key for key in KEYS if key.kind.form != "duration" and not key.kind.secret]))
    _, value = data.draw(values(key))
    assert key.read(key.show(value)) == value
