"""`penstock schedules pause`, `resume`, `remove` and `run`."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.input.actor import whoami
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import guarded
from penstock.cli.schedules.when import Name

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The schedules.", show_default=False)]


@guarded
def pause_schedules(names: Names, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Pause schedules: they fire no more until they are resumed. Jobs that they have made go on.

    \b
    penstock schedules pause nightly
    penstock schedules pause nightly hourly
    """
    _switch("pause", names, as_json, store, "paused; to go on: penstock schedules resume {name}", "was paused before")


@guarded
def resume_schedules(names: Names, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Resume paused schedules, or bring back declared ones that were removed. What was missed is not made up for.

    \b
    penstock schedules resume nightly
    """
    _switch("resume", names, as_json, store, "goes on", "was not paused")


@guarded
def remove_schedules(names: Names, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Remove schedules. Jobs that they have made stay.

    One that a program declares stays removed also when that starts again; to bring it back, resume it.

    \b
    penstock schedules remove nightly
    """
    _switch("remove", names, as_json, store, "is removed", "")


def _switch(act: str, names: list[str], as_json: bool, url: str | None, done: str, before: str) -> None:
    """All of them or, if one is not known, none."""
    chosen = list(dict.fromkeys(names))
    with app_on(url) as app:
        for name in chosen:
            app.schedules.get(name)
        changed = {name: getattr(app.schedules, act)(name, by=whoami()) is not False for name in chosen}
    if as_json:
        print_json({"schedules": [{"name": name, "changed": new} for name, new in changed.items()]})
        return
    for name, new in changed.items():
        say(f"schedule {name!r} {done.format(name=name) if new else before}")


@guarded
def run_schedule(name: Name, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Enqueue the job of a schedule now and print its id. Its times stay as they are.

    \b
    penstock schedules run nightly
    """
    with app_on(store) as app:
        job = app.schedules.run(name, by=whoami())
    if as_json:
        print_json({"id": job.id, "created": job.created, "schedule": name})
        return
    say(job.id)
    if not job.created:
        say("note: a job with its unique key has not ended; nothing new was stored", err=True)
