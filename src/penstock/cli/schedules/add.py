"""`penstock schedules add`: a schedule of a job by name; the handler need not be here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli.guard import guarded
from penstock.cli.job_options import (
    Attempts,
    Capability,
    Delay,
    Payload,
    Priority,
    Queue,
    Tags,
    TenantOption,
    Timeout,
    Ttl,
    UniqueKey,
    UniquePer,
    UniqueScope,
    given_options,
)
from penstock.cli.options import AsJson, StoreUrl
from penstock.cli.say import say
from penstock.cli.schedules.when import Cron, End, Every, Grace, Limit, Misfire, Name, Start, Timezone


@guarded
def add_schedule(
    name: Name,
    type: Annotated[str, typer.Argument(metavar="TYPE", help="The name of the job type.", show_default=False)],
    payload: Payload = "{}",
    cron: Cron = None,
    every: Every = None,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    limit: Limit = None,
    misfire: Misfire = None,
    grace: Grace = None,
    delay: Delay = None,
    priority: Priority = None,
    queue: Queue = None,
    capability: Capability = None,
    attempts: Attempts = None,
    timeout: Timeout = None,
    ttl: Ttl = None,
    tenant: TenantOption = None,
    tag: Tags = None,
    unique: UniqueKey = None,
    unique_per: UniquePer = None,
    unique_scope: UniqueScope = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Add a schedule: enqueue a job by the clock. Workers take it up within a second.

    \b
    penstock schedules add nightly cleanup '{"days": 7}' --cron '0 3 * * *' --timezone Europe/Berlin
    penstock schedules add ping check_health --every 30s --queue health
    penstock schedules add launch announce --cron '0 9 1 6 *' --limit 1
    """
    from penstock.cli.actor import whoami
    from penstock.cli.enqueue import parse_payload
    from penstock.cli.output import print_json
    from penstock.cli.schedules.list import due_text
    from penstock.cli.schedules.when import app_of, given_times

    arguments = parse_payload(sys.stdin.read() if payload == "-" else payload)
    when = given_times(cron, every, timezone, start, end, limit, misfire, grace)
    options = given_options(
        tenant, tag, unique, unique_per, unique_scope, delay=delay, priority=priority, queue=queue,
        capability=capability, attempts=attempts, timeout=timeout, ttl=ttl,
    )  # fmt: skip
    with app_of(store) as app:
        types = app.store.read_types().wait()
        call = app.client.call_by_name(type, arguments, options, types)
        added = app.schedules.add(name, job=call, by=whoami(), **when)
    if as_json:
        print_json(added)
        return
    say(f"schedule {name!r} added: {due_text(added)}")
    if type not in types:
        say(f"note: no worker has declared the type {type!r} in this store so far; its jobs wait", err=True)
