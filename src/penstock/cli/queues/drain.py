"""`penstock queues drain`: waits until nothing of a queue waits or runs. It only looks: leaving it changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.moments import parse_patience
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.bars import progress_bar
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.queues.list import ByType, kind_of
from penstock.cli.queues.pause import Names
from penstock.cli.running.guard import fail, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.domain.flow.pauses import PauseKind
    from penstock.observe.queues import Flow
    from penstock.store.contract import Store

LOOK_SECONDS = 0.2
LOOK_SHARE = 10
"""Looking costs what waits: no more than a tenth of the time is spent on it."""


@guarded
def drain_queues(
    names: Names,
    by_type: ByType = False,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="D", help="Give up after so long, with exit code 1.")
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Wait until nothing of a queue waits or runs, retries included. Ctrl-C leaves everything as it is.

    Nothing is stopped: jobs that are enqueued meanwhile are waited for too. Those that are scheduled for later and
    were never tried are not. A paused queue with jobs in it is an error, for it would never be empty.

    \b
    penstock queues drain mail
    penstock queues drain mail bulk --timeout 10m
    """
    from penstock.domain.flow.known_names import refuse_unknown_names
    from penstock.observe.queues import seen_names

    patience = None if timeout is None else parse_patience(timeout, "--timeout")
    kind = kind_of(by_type)
    with existing_store(store) as opened, _bar() as told:
        chosen = list(dict.fromkeys(names))
        refuse_unknown_names(kind, chosen, seen_names(opened, kind))
        left, later = _wait(opened, kind, chosen, patience, told)
    if as_json:
        print_json({"drained": left == 0, "left": left, "scheduled": later})
    if left:
        fail(f"{_jobs(left)} of {', '.join(chosen)} had not ended after {timeout}; nothing was changed")
    if not as_json:
        scheduled = f"; {_jobs(later)} scheduled for later" if later else ""
        say(f"{', '.join(chosen)}: nothing waits or runs{scheduled}")


def _jobs(number: int) -> str:
    return plural(number, "job")


def _wait(
    store: Store, kind: PauseKind, names: Sequence[str], patience: float | None, told: Callable[[int], None]
) -> tuple[int, int]:
    """How many jobs are left when nothing waits or runs, or patience is over; and how many are scheduled for later."""
    end = None if patience is None else time.monotonic() + patience
    while True:
        began = time.monotonic()
        found = _look(store, kind, names)
        left = sum(flow.unfinished for flow in found)
        told(left)
        now = time.monotonic()
        if left == 0 or (end is not None and now >= end):
            return left, sum(flow.scheduled - flow.retrying for flow in found)
        pause = max(LOOK_SECONDS, LOOK_SHARE * (now - began))
        time.sleep(pause if end is None else max(0.0, min(pause, end - now)))


def _look(store: Store, kind: PauseKind, names: Sequence[str]) -> list[Flow]:
    from penstock.domain.flow.pauses import Pauses
    from penstock.observe.queues import flows

    pauses = Pauses(store.list_pauses().wait())
    jobs = [one for one in store.count_open().wait() if (one.queue if kind == "queue" else one.type) in names]
    for one in jobs:
        for pause in pauses.holding(one) if one.pending + one.retrying else ():
            flag = " --type" if pause.kind == "type" else ""
            fail(
                f"{pause} is paused and {_jobs(one.pending + one.retrying)} of type {one.type!r} wait in queue "
                f"{one.queue!r}: resume it first: penstock queues resume {pause.name}{flag}"
            )
    return [flow for flow in flows(kind, jobs, pauses) if flow.name in names]


@contextmanager
def _bar() -> Iterator[Callable[[int], None]]:
    """A bar on the terminal that is told how many are left; stdout stays clean for the answer."""
    most = 0
    with progress_bar("draining", 0) as bar:

        def told(left: int) -> None:
            nonlocal most
            most = max(most, left)
            bar.update(bar.task_ids[0], total=most, completed=most - left)

        yield told
