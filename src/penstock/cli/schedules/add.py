"""`penstock schedules add`: a schedule of a job by name; the handler need not be here."""

from __future__ import annotations

from penstock.cli.input.actor import whoami
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.job_options import Delay, OneJobFlags, TypeName, given
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.payload import Payload, read_payload
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import guarded
from penstock.cli.schedules.list import due_text
from penstock.cli.schedules.when import Name, TimeFlags


@guarded
@with_flags
def add_schedule(
    name: Name,
    type: TypeName,
    payload: Payload = "{}",
    *,
    times: TimeFlags,
    delay: Delay = None,
    job: OneJobFlags,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Add a schedule: enqueue a job by the clock. Workers take it up within a second.

    \b
    penstock schedules add nightly cleanup '{"days": 7}' --cron '0 3 * * *' --timezone Europe/Berlin
    penstock schedules add ping check_health --every 30s --queue health
    penstock schedules add launch announce --cron '0 9 1 6 *' --limit 1
    """
    arguments = read_payload(payload)
    when, options = times.given(), given(delay=delay) | job.options()
    with app_on(store) as app:
        types = app.store.read_types().wait()
        call = app.client.call_by_name(type, arguments, options, types)
        added = app.schedules.add(name, job=call, by=whoami(), **when)
    if as_json:
        print_json(added)
        return
    say(f"schedule {name!r} added: {due_text(added)}")
    if type not in types:
        say(f"note: no worker has declared the type {type!r} in this store so far; its jobs wait", err=True)
