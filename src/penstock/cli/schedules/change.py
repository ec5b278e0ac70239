"""`penstock schedules reschedule`: other times for a schedule, or another limit."""

from __future__ import annotations

from penstock.cli.input.actor import whoami
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import guarded
from penstock.cli.schedules.list import due_text
from penstock.cli.schedules.when import Name, TimeFlags


@guarded
@with_flags
def reschedule_schedule(
    name: Name,
    *,
    times: TimeFlags,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Change when a schedule is due. What is not given stays; `none` takes --start, --end or --limit away.

    A program that declares it does not undo that, until it declares something else.

    \b
    penstock schedules reschedule nightly --cron '0 4 * * *'
    penstock schedules reschedule nightly --every 1d --limit none
    """
    with app_on(store) as app:
        changed = app.schedules.reschedule(name, by=whoami(), **times.given())
    if as_json:
        print_json(changed)
    else:
        say(f"schedule {name!r} changed: {due_text(changed)}")
