"""Many seeds, side by side in processes of their own, in the order of their numbers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.pool import Pool
from typing import NamedTuple

from tests.simulation.ablations import SAFEGUARDS
from tests.simulation.run import Outcome, run_seed


class Case(NamedTuple):
    """A seed, and the name of a safeguard that is taken away for it."""

    seed: int
    without: str | None = None


def run_many(cases: Iterable[Case], processes: int | None = None) -> Generator[Outcome, None, None]:
    """The outcomes in the order of the cases, as they come, without their histories.

    Whoever stops early ends the processes, and their files go too.
    """
    with (
        tempfile.TemporaryDirectory(prefix="penstock-seeds-") as folder,
        new_pool(processes, _prepare, folder) as pool,
    ):
        yield from pool.imap(_run, cases)


def new_pool(processes: int | None, prepare: Callable[..., None], *given: object) -> Pool:
    """New processes, of which none hears Ctrl-C, not even while it imports what it needs: `prepare` is
    `leave_interrupts`, or calls it. One that comes meanwhile is heard here afterwards.
    """
    resource_tracker.ensure_running()  # It would unblock what is blocked.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        pool = multiprocessing.get_context("spawn").Pool(processes or cores(), prepare, given)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pool


def leave_interrupts() -> None:
    """Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _prepare(folder: str) -> None:
    """All files in one folder that outlives this process, and Ctrl-C left to the parent."""
    tempfile.tempdir = folder
    leave_interrupts()


def _run(case: Case) -> Outcome:
    without = nullcontext if case.without is None else SAFEGUARDS[case.without].without
    return replace(run_seed(case.seed, without), history=b"")
