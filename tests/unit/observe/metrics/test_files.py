"""The rules and the dashboard: made of the catalogue, and in the repository as the commands print them."""

from __future__ import annotations

import json
import re

import pytest

from penstock.observe.metrics.catalogue import BY_NAME, METRICS, PREFIX
from penstock.observe.metrics.dashboard import PANELS, dashboard
from penstock.observe.metrics.rules import RULES, named, rules_file
from tests.tidy.tree import ROOT

RULES_FILE = ROOT / "deploy" / "prometheus" / "penstock.rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "penstock.json"


def test_the_files_are_what_is_printed() -> None:
    again = "make it anew: penstock metrics {} > {}"
    assert RULES_FILE.read_text(encoding="utf-8") == rules_file(PREFIX), again.format("rules", RULES_FILE)
    assert DASHBOARD.read_text(encoding="utf-8") == dashboard(PREFIX), again.format("dashboard", DASHBOARD)


def test_another_prefix_is_everywhere() -> None:
    for text in (rules_file("shop_"), dashboard("shop_")):
        assert not re.search(r"\bpenstock_", text)
        assert "shop_jobs_total" in text


def test_a_metric_that_is_not_in_the_catalogue_cannot_be_named() -> None:
    with pytest.raises(KeyError):
        named("$jobs_lost", PREFIX)


def test_the_dashboard_shows_every_metric() -> None:
    text = dashboard(PREFIX)
    assert [metric.name for metric in METRICS if PREFIX + metric.name not in text] == []


def test_panels_lie_beside_each_other() -> None:
    places = [panel["gridPos"] for panel in json.loads(dashboard(PREFIX))["panels"]]
    cells = [(x, place["y"]) for place in places for x in range(place["x"], place["x"] + place["w"])]
    assert len(places) == len(PANELS)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_names_are_given_once_and_are_as_prometheus_wants_them() -> None:
    assert len(BY_NAME) == len(METRICS)
    assert len({rule.name for rule in RULES}) == len(RULES)
    for metric in METRICS:
        assert re.fullmatch(r"[a-z_]+", metric.name)
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert (metric.kind == "histogram") == bool(metric.buckets)
        assert metric.help.endswith(".")
