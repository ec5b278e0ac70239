"""docs/alerts.md and the catalogue of rules say the same, and the files that it shows are ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config.load import load
from penstock.domain.duration import format_duration, format_size
from penstock.observe.alerts.catalogue import RULES, RuleSpec
from tests.docs.pages import ROOT, Block, blocks

PAGE = ROOT / "docs" / "alerts.md"


def written(rule: RuleSpec) -> str:
    if rule.threshold is None:
        return ""
    if rule.unit == "duration":
        return f"`{format_duration(rule.threshold)}`"
    return f"`{format_size(int(rule.threshold)) if rule.unit == 'size' else f'{rule.threshold:g}'}`"


def row(name: str, rule: RuleSpec) -> str:
    hold = f"`{format_duration(rule.hold)}`" if rule.hold else ""
    cells = (f"`{name}`", rule.severity, written(rule), hold, rule.help)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def test_the_page_lists_exactly_the_rules() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| rule | severity | threshold | for | fires when |")
    assert lines[start + 2 : lines.index("", start)] == [row(name, rule) for name, rule in RULES.items()]


@pytest.mark.parametrize("block", [b for b in blocks(PAGE) if b.language == "toml"], ids=lambda b: str(b.start))
def test_the_files_that_it_shows_are_valid(block: Block, tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("\n".join(block.lines))
    config = load(tmp_path / "penstock.toml")
    assert config.alerts() != load().alerts()
