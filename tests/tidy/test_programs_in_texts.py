"""Programs that stand in texts, as those that tests start and docs show, import only what is there: nobody checks their
types, and one that is wrong fails far away from its cause.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from tests.tidy.tree import SOURCE, files, name

IMPORT = re.compile(r"^[ \t\"']*from (penstock[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
NAME = re.compile(r"(\w+)(?: as \w+)?")


def imports(text: str) -> Iterator[tuple[str, str]]:
    for module, several, line in IMPORT.findall(text):
        for part in re.sub(r"#.*|;.*|\\n.*", "", several or line).split(","):
            named = NAME.match(part.strip())
            if named:
                yield module, named[1]


def is_there(module: str, wanted: str) -> bool:
    try:
        found = importlib.import_module(module)
        return hasattr(found, wanted) or importlib.import_module(f"{module}.{wanted}") is not None
    except ModuleNotFoundError:
        return False


def test_what_is_imported_is_there() -> None:
    missing = [
        f"{name(path)}: {module}.{wanted}"
        for path in files(".py", ".md")
        if not path.is_relative_to(SOURCE)  # There types are checked.
        for module, wanted in imports(path.read_text(encoding="utf-8"))
        if not is_there(module, wanted)
    ]
    assert missing == []


def test_an_import_of_what_is_gone_is_found() -> None:
    text = 'BOOT = """\nfrom penstock.supervisor import nothing_of_that_name, supervisor\n"""'
    assert [wanted for module, wanted in imports(text) if not is_there(module, wanted)] == ["nothing_of_that_name"]
