"""docs/metrics.md and the catalogue say the same, and Prometheus takes the configurations that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.domain.figures.grid import BUCKETS
from penstock.domain.figures.series import Count
from penstock.observe.metrics.catalogue import ATTEMPTS, METRICS, PREFIX, Metric
from penstock.observe.metrics.rules import RULES, Rule, named, rules_file
from tests.docs.pages import ROOT, Block, blocks
from tests.metrics.prometheus import promtool

PAGE = ROOT / "docs" / "metrics.md"
LINES = PAGE.read_text(encoding="utf-8").splitlines()


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = (f"`{PREFIX}{metric.name}`", metric.kind, labels, metric.by, metric.help)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def rule_row(rule: Rule) -> str:
    when = named(rule.when, PREFIX).replace("|", "\\|")
    return f"| {rule.name} | `{when}` | {rule.lasting} | {rule.severity} |"


def table(head: str) -> list[str]:
    start = LINES.index(head)
    end = LINES.index("", start) if "" in LINES[start:] else len(LINES)
    return LINES[start + 2 : end]


def test_the_page_lists_exactly_the_metrics() -> None:
    assert table("| metric | kind | labels | shown by | meaning |") == [row(metric) for metric in METRICS]


def test_the_page_lists_exactly_the_rules() -> None:
    assert table("| alert | fires when | for | severity |") == [rule_row(rule) for rule in RULES]


def test_the_page_names_the_buckets_and_what_can_be_counted() -> None:
    text = "\n".join(LINES)
    assert f"buckets {listed([f'{bound:g}' for bound in BUCKETS])} seconds" in text
    assert f"`job_attempts` {listed([f'{bound:g}' for bound in ATTEMPTS])}." in text
    assert f"one of {listed([count.value for count in Count])}." in text


def listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


@pytest.mark.parametrize("block", [b for b in blocks(PAGE) if b.language == "yaml"], ids=lambda b: str(b.start))
def test_prometheus_takes_the_configurations(block: Block, tmp_path: Path) -> None:
    (tmp_path / "penstock.rules.yml").write_text(rules_file(PREFIX))
    config = tmp_path / "prometheus.yml"
    config.write_text("\n".join(block.lines))
    checked = promtool("check", "config", "--syntax-only", str(config))
    assert checked.returncode == 0, checked.stdout + checked.stderr
