"""`penstock enqueue`: stores one job by the name of its type; the handler need not be here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

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
from penstock.domain.errors import ConfigError

if TYPE_CHECKING:
    from penstock.client import JobHandle
    from penstock.domain.job import Job
    from penstock.store.contract import Store


@guarded
def enqueue(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the job type.", show_default=False)],
    payload: Payload = "{}",
    delay: Delay = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Run it then, such as 2030-01-31T12:00:00Z.")
    ] = None,
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
    from penstock.cli.storage import existing_store

    arguments = parse_payload(sys.stdin.read() if payload == "-" else payload)
    options = given_options(
        tenant, tag, unique, unique_per, unique_scope, delay=delay, priority=priority, queue=queue,
        capability=capability, attempts=attempts, timeout=timeout, ttl=ttl, id=job_id,
    ) | _moment(at)  # fmt: skip
    with existing_store(store) as opened:
        handle, types = _store_job(opened, name, arguments, options)
        _report(handle, opened.read_job(handle.id).wait(), name, types, as_json)


def _moment(at: str | None) -> dict[str, Any]:
    from penstock.cli.moments import parse_moment

    return {} if at is None else {"at": parse_moment(at, "--at")}


def _store_job(store: Store, name: str, payload: dict[str, Any], options: Any) -> tuple[JobHandle[Any], set[str]]:
    from penstock.app import App

    app = App(store)
    app.client.use_limits(store.read_limits().wait())
    app.client.know(name)
    handle = app.enqueue(name, payload, **options)
    return handle, set(app.client.types)


def _report(handle: JobHandle[Any], job: Job | None, name: str, types: set[str], as_json: bool) -> None:
    """`job` is as it was a moment later: it may have run by then, and not be kept."""
    from penstock.cli.output import print_json
    from penstock.client import nearest
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


IN_A_SHELL = 'in a shell put it in single quotes: \'{"to": "a@b.c"}\''


def parse_payload(text: str, fix: str = IN_A_SHELL) -> dict[str, Any]:
    """The JSON object in `text`, or an error that points at the place and says how to write one."""
    import json

    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"the payload is not JSON: {error.msg} at line {error.lineno}, column {error.colno}, before "
            f"{_excerpt(text, error.pos)}; {fix}"
        ) from None
    except RecursionError:
        raise ConfigError("the payload is nested too deeply") from None
    except ValueError:
        raise ConfigError("the payload holds a number of thousands of digits: write it as a text") from None
    if not isinstance(value, dict):
        raise ConfigError(
            f"the payload is a JSON {_KINDS.get(type(value), 'value')}: give an object with the handler's parameters "
            'by name, such as \'{"to": "a@b.c"}\''
        )
    return value


_KINDS: dict[type, str] = {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}


def _excerpt(text: str, position: int) -> str:
    rest = text[position : position + 20]
    return repr(rest) if rest else "the end of the text"


def _refuse_constant(word: str) -> None:
    raise ConfigError(f"the payload holds {word}, which is not JSON: use null or a text")
