"""Runs what could be flaky again and again: `make repeat N=20`. Stops at the first failure and shows it.

Contract suite, end-to-end tests and short chaos, two parts at once as in side_by_side.py. A round that the time limit
cuts off does not count.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.commands import INTERRUPTED, hear_interrupts
from tests.side_by_side import LOOK_SECONDS, Part, say, start, stop

PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
PARTS = [[*PYTEST, "tests/contract"], [*PYTEST, "tests/e2e", "tests/chaos"]]
MINUTES_MAX = 40.0


def main(arguments: list[str] | None = None, parts: list[list[str]] = PARTS) -> int:
    parser = argparse.ArgumentParser(prog="make repeat", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=MINUTES_MAX)
    options = parser.parse_args(arguments)
    hear_interrupts()
    end = time.monotonic() + options.minutes * 60
    green = 0
    for number in range(1, options.rounds + 1):
        began = time.monotonic()
        failure = run_round(parts, end)
        if failure is not None:
            say(failure)
            say(f"round {number} failed, after {green} green ones")
            return 1
        if time.monotonic() >= end:
            say(f"{options.minutes:g} minutes are over: {green} of {options.rounds} rounds, all of them green")
            return 0
        green += 1
        say(f"round {number} of {options.rounds} is green, {time.monotonic() - began:.0f} s")
    say(f"all {green} rounds are green")
    return 0


def run_round(commands: list[list[str]], end: float) -> str | None:
    """What the first part to fail has said; None if none has failed until the end of the time."""
    parts: list[Part] = []
    try:
        parts += [start("part", command) for command in commands]
        while time.monotonic() < end:
            codes = [part.process.poll() for part in parts]
            for code, part in zip(codes, parts, strict=True):
                if code:
                    return part.said()
            if None not in codes:
                return None
            time.sleep(LOOK_SECONDS)
        return None
    finally:
        stop(parts)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
