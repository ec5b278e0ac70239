"""mypy and pyright accept the right calls, and reject the wrong ones exactly where they are marked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MARK = re.compile(r"\b(mypy|pyright)\[([\w,-]+)\]")

Found = dict[str, dict[int, set[str]]]


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def found_by_mypy(files: list[str]) -> Found:
    found: Found = defaultdict(lambda: defaultdict(set))
    for line in run("mypy", "--output=json", *files).splitlines():
        if line.startswith("{"):
            message = json.loads(line)
            if message["severity"] == "error":
                found[Path(message["file"]).name][message["line"]].add(message["code"])
    return found


def found_by_pyright(files: list[str]) -> Found:
    found: Found = defaultdict(lambda: defaultdict(set))
    for message in json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable, *files))[
        "generalDiagnostics"
    ]:
        line = message["range"]["start"]["line"] + 1
        found[Path(message["file"]).name][line].add(message.get("rule", message["message"]))
    return found


def marked(tool: str, file: Path) -> dict[int, set[str]]:
    """The codes that the comments `# error: mypy[...] pyright[...]` of a file ask for, by line."""
    marks: dict[int, set[str]] = {}
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        for name, codes in MARK.findall(line.partition("# error:")[2]):
            if name == tool:
                marks[number] = set(codes.split(","))
    return marks


FILES = ["declarations.py", "right_calls.py", "wrong_calls.py"]
TOOLS = {"mypy": found_by_mypy, "pyright": found_by_pyright}


@pytest.mark.parametrize("tool", TOOLS)
def test_errors_are_reported_exactly_where_they_are_marked(tool: str) -> None:
    found = TOOLS[tool]([str(HERE / name) for name in FILES])
    for name in FILES:
        assert dict(found[name]) == marked(tool, HERE / name), name


def test_every_wrong_line_is_marked_for_both_tools() -> None:
    marks = {tool: marked(tool, HERE / "wrong_calls.py") for tool in TOOLS}
    assert marks["mypy"].keys() == marks["pyright"].keys()
    assert len(marks["mypy"]) >= 25
