"""`penstock schedules reschedule`: other times for a schedule, or another limit."""

from __future__ import annotations

from penstock.cli.guard import guarded
from penstock.cli.options import AsJson, StoreUrl
from penstock.cli.say import say
from penstock.cli.schedules.when import Cron, End, Every, Grace, Limit, Misfire, Name, Start, Timezone


@guarded
def reschedule_schedule(
    name: Name,
    cron: Cron = None,
    every: Every = None,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    limit: Limit = None,
    misfire: Misfire = None,
    grace: Grace = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Change when a schedule is due. What is not given stays; `none` takes --start, --end or --limit away.

    A program that declares it does not undo that, until it declares something else.

    \b
    penstock schedules reschedule nightly --cron '0 4 * * *'
    penstock schedules reschedule nightly --every 1d --limit none
    """
    from penstock.cli.actor import whoami
    from penstock.cli.output import print_json
    from penstock.cli.schedules.list import due_text
    from penstock.cli.schedules.when import app_of, given_times

    when = given_times(cron, every, timezone, start, end, limit, misfire, grace)
    with app_of(store) as app:
        changed = app.schedules.reschedule(name, by=whoami(), **when)
    if as_json:
        print_json(changed)
    else:
        say(f"schedule {name!r} changed: {due_text(changed)}")
