"""`penstock enqueue`: stores one job by the name of its type; the handler need not be here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.job_options import Delay, OneJobFlags, given
from penstock.cli.input.moments import parse_moment
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.payload import Payload, read_payload
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.client.client import JobHandle
    from penstock.domain.job import Job


@guarded
@with_flags
def enqueue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the job type.", show_default=False)],
    payload: Payload = "{}",
    *,
    delay: Delay = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Run it then, such as 2030-01-31T12:00:00Z.")
    ] = None,
    job: OneJobFlags,
    job_id: Annotated[
        str | None, typer.Option("--id", metavar="UUID", help="Your own id: sending it twice makes one job.")
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Enqueue a job by name and print its id.

    \b
    penstock enqueue send_email '{"to": "a@b.c"}' --store sqlite:///jobs.db
    penstock enqueue send_email '{"to": "a@b.c"}' --delay 5m --priority 10
    penstock enqueue send_email '{"to": "a@b.c"}' --unique welcome:7 --unique-per 1h
    cat payload.json | penstock enqueue import_orders -
    """
    arguments = read_payload(payload)
    moment = None if at is None else parse_moment(at, "--at")
    options = given(delay=delay, id=job_id, at=moment) | job.options()
    with app_on(store) as app:
        app.client.know(name)
        handle = app.enqueue(name, arguments, **options)
        _report(handle, app.store.read_job(handle.id).wait(), name, set(app.client.types), as_json)


def _report(handle: JobHandle[Any], job: Job | None, name: str, types: set[str], as_json: bool) -> None:
    """`job` is as it was a moment later: it may have run by then, and not be kept."""
    from penstock.client.client import nearest
    from penstock.domain.job import State

    known, near = name in types, nearest(name, types)
    if as_json:
        document = {"id": handle.id, "created": handle.created, "type": name, "type_known": known,
                    "state": None if job is None else job.state}  # fmt: skip
        print_json(document if known else {**document, "nearest_type": near})
        return
    say(handle.id)
    if not handle.created:
        say("note: this job was stored before; nothing new was stored", err=True)
    if handle.created and job is not None and job.state is State.DEAD:
        say(f"note: this job is dead: {job.reason}", err=True)
    elif not known:
        mean = f": did you mean {near!r}? If so, penstock jobs cancel {handle.id}" if near else ""
        say(f"note: no worker has declared the type {name!r} in this store so far; the job waits{mean}", err=True)
