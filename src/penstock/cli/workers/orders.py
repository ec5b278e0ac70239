"""`penstock workers drain` and `resize`: what a running worker is told through the store, from anywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.input.actor import whoami
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.running.guard import guarded

WorkerId = Annotated[str, typer.Argument(metavar="ID", help="The worker's id.", show_default=False)]


@guarded
def drain_worker(worker_id: WorkerId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Tell a worker to finish what it has and stop. It hears of it within a second.

    It claims nothing more from this moment on, and takes the time that its jobs need; after SIGTERM, only that of its
    shutdown timeout. Where something starts it again when it ends (--processes, a service manager), a new worker takes
    its place.

    \b
    penstock workers drain web-1
    """
    from penstock.store.contract import DrainWorker

    with existing_store(store) as opened:
        changed = opened.drain_worker(DrainWorker(worker_id, whoami())).wait()
    if as_json:
        print_json({"worker": worker_id, "changed": changed})
    elif changed:
        say(f"{worker_id} claims no more; it finishes what it has and stops. To follow it: penstock workers")
    else:
        say(f"{worker_id} is draining already; nothing was changed")


@guarded
def resize_worker(
    worker_id: WorkerId,
    slots: Annotated[int, typer.Argument(metavar="N", help="How many jobs it may run at once.", show_default=False)],
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Change how many jobs a worker runs at once, while it runs. It hears of it within a second.

    With more slots it claims more at once; with fewer, what is over the new number finishes first. It begins with the
    slots of its settings again when it is started anew.

    \b
    penstock workers resize web-1 20
    """
    from penstock.domain.flow.slots import check_slots
    from penstock.store.contract import ResizeWorker

    check_slots(slots, "N")
    with existing_store(store) as opened:
        before = opened.resize_worker(ResizeWorker(worker_id, slots, whoami())).wait()
    if as_json:
        print_json({"worker": worker_id, "slots": slots, "before": before})
    else:
        say(f"{worker_id} has {plural(slots, 'slot')} now, it had {before:,}")
