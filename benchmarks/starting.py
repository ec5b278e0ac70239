"""How a benchmark starts from nothing but Python: penstock is installed, and the benchmark run again on top of it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from benchmarks.peer_bench.environments import PYTHON_MIN, ROOT, CannotInstall, cache_folder, install_penstock

INSIDE = "--inside"


def check_python(command: str) -> None:
    if sys.version_info < PYTHON_MIN:
        sys.exit(f"Python 3.11 or newer is needed: name one, as in {command} PYTHON=python3.12")


def whole(text: str) -> int:
    """An option that is a count."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def run_inside(module: str) -> NoReturn:
    """The same module with the same options, by the Python of an environment that has penstock."""
    print(f"Installing penstock from this checkout into {cache_folder()}", file=sys.stderr, flush=True)
    try:
        program = str(install_penstock().program)
    except CannotInstall as error:
        sys.exit(f"penstock could not be installed: {error}")
    os.chdir(ROOT)
    os.execv(program, [program, "-m", module, INSIDE, *sys.argv[1:]])
