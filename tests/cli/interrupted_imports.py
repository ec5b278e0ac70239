"""A program that starts `penstock …` again and again, each time with a Ctrl-C at the import of another module.

    python interrupted_imports.py ENTRY WHICH UNTIL ARGUMENT …

ENTRY is MODULE:FUNCTION as in an entry point, or MODULE for `python -m MODULE`. WHICH says, in a pattern, at whose
imports it is interrupted, UNTIL the last of them, or nothing. It prints how each ended, as JSON.
Each is a fork of this process, which has imported nothing of them.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import signal
import sys
import tempfile
from typing import IO, Any


class AtImport:
    """Asked before all other finders; finds nothing itself."""

    def __init__(self, wanted: str | None, noted: IO[bytes]) -> None:
        self._wanted = wanted
        self._noted = noted

    def find_spec(self, name: str, *_: Any) -> None:
        if self._wanted is None:
            os.write(self._noted.fileno(), f"{name}\n".encode())
        elif name == self._wanted:
            signal.raise_signal(signal.SIGINT)


def start(entry: str) -> None:
    """As the script of an installed package does, or the option -m."""
    module, colon, function = entry.partition(":")
    if colon:
        sys.exit(getattr(importlib.import_module(module), function)())
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def ended(entry: str, arguments: list[str], wanted: str | None, noted: IO[bytes]) -> tuple[int, str]:
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if not pid:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            sys.argv[:] = ["penstock", *arguments]
            sys.meta_path.insert(0, AtImport(wanted, noted))
            start(entry)
            sys.exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        output.seek(0)
        return code, output.read().decode()


def main(entry: str, which: str, until: str, *arguments: str) -> None:
    with tempfile.TemporaryFile() as noted:
        code, output = ended(entry, [*arguments], None, noted)
        assert code == 0, output
        noted.seek(0)
        names = list(dict.fromkeys(noted.read().decode().split()))
        # Before the module with our first line is found, there is nothing that could hear of it.
        first = names.index("penstock.__main__")
        last = names.index(until) if until else len(names)
        chosen = [name for name in names[first + 1 : last + 1] if re.fullmatch(which, name)]
        found = [(name, *ended(entry, [*arguments], name, noted)) for name in chosen]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
