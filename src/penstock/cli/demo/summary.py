"""What the tour has shown, in figures that the store confirms, and where to go from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.counts import by_state
from penstock.cli.output.say import say
from penstock.cli.output.tables import show, state_text, table, text
from penstock.store.contract import ListDead

if TYPE_CHECKING:
    from penstock.cli.demo.tour import Burst, Tour
    from penstock.store.contract import Store

NEXT = """
what to try next
  in tasks.py:   from penstock import App
                 app = App("sqlite:///jobs.db")

                 @app.job
                 async def greet(name: str) -> str:
                     return f"hello {name}"

  penstock worker tasks:app                                    run a worker
  penstock enqueue greet '{"name": "you"}' --store sqlite:///jobs.db
  penstock jobs list --store sqlite:///jobs.db                 what there is
  penstock counts --by type --store sqlite:///jobs.db          how much there is
  penstock dead list --store sqlite:///jobs.db                 what has failed for good
  penstock doctor --store sqlite:///jobs.db                    whether all is well with it
  penstock --help                                              everything else
"""


def print_summary(tour: Tour, kept: bool) -> None:
    store = tour.app.store
    _print_counts(store)
    _print_dead(store)
    if tour.burst is not None:
        _print_burst(tour.burst, store)
    if kept:
        say(f"\nlook at it with: penstock dead list --store sqlite:///{store.info.address}")
    say(NEXT)


def _print_counts(store: Store) -> None:
    made = table("state", "jobs")
    for state, jobs in by_state(store.count_jobs().wait()).items():
        if jobs:
            made.add_row(state_text(state), f"{jobs:,}")
    say("\njobs by state")
    show(made)


def _print_dead(store: Store) -> None:
    page = store.list_dead(ListDead()).wait()
    made = table("type", "tries", "reason", "error")
    for job in page.jobs:
        error = job.error.message if job.error else ""
        made.add_row(job.type, str(job.attempt), text(job.reason or "", 60), text(error, 60))
    say("\ndead letters: they wait for a person (penstock dead retry)")
    show(made)


def _print_burst(burst: Burst, store: Store) -> None:
    rate = burst.completed / burst.total_seconds
    say(
        f"\n{burst.completed:,} of {burst.jobs:,} empty jobs stored, run and their outcome stored in "
        f"{burst.total_seconds:.2f} s: {rate:,.0f} jobs/s\n"
        f"  by one worker in this process; storing them in one transaction took {burst.enqueue_seconds * 1000:.0f} ms\n"
        f"  {store.info.library}; {store.info.durability}\n"
        f"  the file is {store.info.address}; where temporary folders are kept in memory, a real disk is slower\n"
        "  a small burst on a small store: `penstock bench` measures properly"
    )
