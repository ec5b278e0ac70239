"""Runs all tests, in two halves at once: those of the stores, and the others. Most of their time is spent waiting.

Not by a shell's `&`, which would make the half in the background deaf to SIGINT, and what it starts too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

STORES = ["tests/contract", "tests/store", "tests/postgres", "tests/chaos/test_on_postgres.py"]
PYTEST = [sys.executable, "-m", "coverage", "run", "-p", "-m", "pytest"]


def main() -> int:
    with tempfile.TemporaryFile() as log, subprocess.Popen([*PYTEST, *STORES], stdout=log, stderr=log) as stores:
        try:
            others = subprocess.call([*PYTEST, *(f"--ignore={folder}" for folder in STORES)])
            code = stores.wait()
        except KeyboardInterrupt:
            return 130  # Both were interrupted, and clean up after themselves.
        log.seek(0)
        sys.stdout.buffer.write(log.read())
    return others or code


if __name__ == "__main__":
    sys.exit(main())
