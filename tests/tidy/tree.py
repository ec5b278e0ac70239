"""The files of the project, as the tidy rules look at them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "penstock"
NOT_OURS = {".git", ".venv", "__pycache__", "bench-results", "build", "dist", "node_modules"}
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".sql", ".cfg", ".txt", ".json", ""}


def files(*suffixes: str, under: Path = ROOT) -> list[Path]:
    """The project's own files with these endings, caches and virtual environments left out."""
    return sorted(path for path in _walk(under) if path.suffix in suffixes)


def text_files() -> list[Path]:
    return files(*TEXT)


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in NOT_OURS:
            continue
        if path.is_dir():
            if not path.name.endswith(("_cache", ".egg-info")) and not _hidden(path):
                yield from _walk(path)
        elif not path.name.endswith((".db", ".db-wal", ".db-shm")) and not path.name.startswith(".coverage"):
            yield path


def _hidden(folder: Path) -> bool:
    return folder.name.startswith(".") and folder.name != ".ci"


def python_files() -> list[Path]:
    return [path for folder in ("src", "tests", "examples") for path in files(".py", under=ROOT / folder)]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
