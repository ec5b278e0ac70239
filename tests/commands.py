"""What the commands of the tests share: how they end when they are interrupted, and numbers that can be."""

from __future__ import annotations

import argparse
import signal

INTERRUPTED = 130


def hear_interrupts() -> None:
    """Also when a shell's `&` has made this process deaf to SIGINT: what it starts would be deaf too, and fail. Whoever
    is told to end by SIGTERM cleans up likewise.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def positive(text: str) -> int:
    """How many: a run of none would tell that all is well."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} of them would show nothing: give 1 or more")
    return number
