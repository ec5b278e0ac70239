"""The pages that users read, and the code blocks in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAPERS = [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
PAGE_SECONDS_MAX = 60
STRICT = ("-W", "error")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language line, where its first line is on the page (from 0), and its lines."""

    language: str
    start: int
    lines: list[str]


def blocks(page: Path) -> Iterator[Block]:
    language, start, lines = "", 0, list[str]()
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines()):
        if not line.startswith("```"):
            lines.append(line)
        elif inside:
            yield Block(language, start, lines)
            lines, inside = [], False
        else:
            language, start, lines, inside = line[3:].strip(), number + 1, [], True
    assert not inside, f"{page.name}: a block is not closed"


def file_name(block: Block) -> str | None:
    """The file that a Python block is the text of, if its first line is a comment that names one: # tasks.py"""
    first = block.lines[0] if block.lines else ""
    return first[2:] if block.language == "python" and re.fullmatch(r"# \w+\.py", first) else None


def files(page: Path) -> dict[str, str]:
    """The modules that a page shows, by file name."""
    return {name: "\n".join(block.lines) + "\n" for block in blocks(page) if (name := file_name(block)) is not None}


def script(page: Path) -> str:
    """The page's other Python blocks as one program, each line where it is on the page: tracebacks point there."""
    program = [""] * len(page.read_text(encoding="utf-8").splitlines())
    for block in blocks(page):
        if block.language == "python" and file_name(block) is None:
            program[block.start : block.start + len(block.lines)] = block.lines
    return "\n".join(program) + "\n"


def commands(page: Path) -> list[str]:
    """The lines that a page tells people to type."""
    shown = [line for block in blocks(page) if block.language == "console" for line in block.lines]
    return [line.removeprefix("$ ") for line in shown if line.startswith("$ ")]


def run_python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with warnings as errors; the answer has its output."""
    return subprocess.run(
        [sys.executable, *STRICT, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PAGE_SECONDS_MAX,
    )
