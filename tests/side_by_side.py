"""Runs all tests, in three parts at once: of the stores, of accidents, and the others. Most of their time is waiting.

Not by a shell's `&`, which would make the parts in the background deaf to SIGINT, and what they start too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STORES = ["tests/contract", "tests/store", "tests/postgres"]
ACCIDENTS = ["tests/chaos", "tests/simulation", "tests/checker", "tests/coordinator"]
OTHERS = [f"--ignore={folder}" for folder in STORES + ACCIDENTS]
PYTEST = [sys.executable, "-m", "coverage", "run", "-p", "-m", "pytest"]


def main() -> int:
    with beside(STORES) as stores, beside(ACCIDENTS) as accidents:
        try:
            return max(subprocess.call([*PYTEST, *OTHERS]), stores.wait(), accidents.wait())
        except KeyboardInterrupt:
            return 130  # All were interrupted, and clean up after themselves.


@contextmanager
def beside(part: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A part in the background. What it said is shown when all are done."""
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen([*PYTEST, *part], stdout=log, stderr=log) as process:
            yield process
        log.seek(0)
        sys.stdout.buffer.write(log.read())


if __name__ == "__main__":
    sys.exit(main())
