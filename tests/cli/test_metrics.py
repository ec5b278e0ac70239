"""`penstock metrics …`, and what the flags and keys of metrics do to the commands that run."""

from __future__ import annotations

import json

import pytest

from penstock.cli.running.run import Order, command_of_one
from penstock.config.load import load
from penstock.observe.metrics.catalogue import METRICS
from tests.cli.conftest import Call
from tests.unit.observe.metrics.test_files import DASHBOARD, RULES_FILE


def test_what_is_printed_is_what_is_in_the_repository(call: Call) -> None:
    assert call("metrics", "rules").out == RULES_FILE.read_text(encoding="utf-8")
    assert call("metrics", "dashboard").out == DASHBOARD.read_text(encoding="utf-8")


def test_with_the_prefix_of_the_config(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_METRICS_PREFIX", "shop_")
    assert "shop_leader" in call("metrics", "rules").out
    assert "shop_leader" in call("metrics", "dashboard").out
    assert "penstock_leader" not in call("metrics", "rules").out + call("metrics", "dashboard").out


def test_the_list(call: Call) -> None:
    told = json.loads(call("metrics", "list", "--json").out)["metrics"]
    assert [one["name"] for one in told] == [f"penstock_{metric.name}" for metric in METRICS]
    shown = call("metrics", "list").out
    assert all(f"penstock_{metric.name}" in shown for metric in METRICS)


@pytest.mark.parametrize("prefix", ["shop-", "9lives", "a:b"])
def test_a_prefix_that_cannot_be_names_the_key_and_the_fix(
    call: Call, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    monkeypatch.setenv("PENSTOCK_METRICS_PREFIX", prefix)
    outcome = call("metrics", "rules")
    assert outcome.code == 2
    assert f"PENSTOCK_METRICS_PREFIX: metrics.prefix='{prefix}' is not possible: write" in outcome.err


def test_an_address_that_is_none_names_the_flag(call: Call) -> None:
    outcome = call("worker", "tasks:app", "--metrics", "9464")
    assert outcome.code == 2
    assert "--metrics: metrics.address='9464' is not possible: write HOST:PORT" in outcome.err


def test_the_address_is_the_supervisors_and_no_process_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_METRICS_ADDRESS", "127.0.0.1:9464")
    order = Order("worker", "tasks:app", {}, burst=False, reload=False, supervised=False, metrics=None)
    assert "--metrics=off" in command_of_one(order, load())
    monkeypatch.delenv("PENSTOCK_METRICS_ADDRESS")
    assert "--metrics=off" not in command_of_one(order, load())
