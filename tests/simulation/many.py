"""Many seeds, side by side in processes of their own, in the order of their numbers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Generator, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from tests.simulation.ablations import SAFEGUARDS
from tests.simulation.run import Outcome, run_seed


def run_many(
    seeds: Iterable[int], without: str | None = None, processes: int | None = None
) -> Generator[Outcome, None, None]:
    """The outcomes in order, as they come; `without` names a safeguard that is taken away. Histories are left out.

    Whoever stops early ends the processes, and their files go too.
    """
    run = partial(_run, without=without)
    with tempfile.TemporaryDirectory(prefix="penstock-seeds-") as folder:
        context = multiprocessing.get_context("spawn")
        with context.Pool(processes or cores(), _prepare, (folder,)) as pool:
            yield from pool.imap(run, seeds)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _prepare(folder: str) -> None:
    """All files in one folder that outlives this process, and Ctrl-C left to the parent."""
    tempfile.tempdir = folder
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(seed: int, without: str | None) -> Outcome:
    outcome = run_seed(seed, SAFEGUARDS[without].without if without is not None else nullcontext)
    return replace(outcome, history=b"")
