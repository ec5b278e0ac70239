"""docs/config.md and the table of keys say the same, and the file that it shows is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config.keys import KEYS, Key
from penstock.config.load import load
from tests.docs.pages import ROOT, Block, blocks

PAGE = ROOT / "docs" / "config.md"


def row(key: Key) -> str:
    default = f"`{key.show(key.default)}`" if key.default is not None or key.none else ""
    flag = f"`{key.flag}`" if key.flag else ""
    cells = (f"`{key.name}`", key.form, default, flag, key.help)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def test_the_page_lists_exactly_the_keys() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| key | takes | default | flag | meaning |")
    assert lines[start + 2 : lines.index("", start)] == [row(key) for key in KEYS]


@pytest.mark.parametrize("block", [b for b in blocks(PAGE) if b.language == "toml"], ids=lambda b: str(b.start))
def test_the_files_that_it_shows_are_valid(block: Block, tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("\n".join(block.lines))
    assert load(tmp_path / "penstock.toml").file == str(tmp_path / "penstock.toml")
