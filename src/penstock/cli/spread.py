"""`penstock spread`: staggers jobs of one type over a period, with payloads from a file; once in each period."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.complete import words
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.job_options import JobFlags, TypeName
from penstock.cli.input.moments import parse_moment
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.payload import parse_payload
from penstock.cli.input.storage import app_on
from penstock.cli.output.bars import progress_bar
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError, PenstockError

if TYPE_CHECKING:
    from penstock.app import App
    from penstock.client.client import JobCall

BAR_STEP = 1000
EXAMPLE = 'write one on each line, such as {"store_id": 7}'


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A name for it: it is spread once in each period.", show_default=False)
]
Items = Annotated[
    str,
    typer.Option(
        "--items", metavar="FILE", help="A payload on each line, as a JSON object; - reads stdin.", show_default=False
    ),
]
Batches = Annotated[
    int | None, typer.Option("--batches", metavar="N", help="In so many; otherwise each job at its own moment.")
]
Kind = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="once|each",
        help="Every item once in the period, or every item in each batch.",
        autocompletion=words("once", "each"),
    ),
]


@guarded
@with_flags
def spread(
    name: Name,
    type: TypeName,
    items: Items,
    *,
    period: Annotated[str, typer.Option("--period", metavar="D", help="Over how long.")] = "24h",
    batches: Batches = None,
    mode: Kind = "once",
    start: Annotated[
        str | None, typer.Option("--start", metavar="TIME", help="When it begins, such as 2030-01-31T12:00:00Z.")
    ] = None,
    job: JobFlags,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Stagger many jobs of one type over a period, once in each.

    All are stored or none. Another spread of the same name that begins in the same period stores nothing. Periods are
    counted from 1970 in UTC, so one of 24 hours is a day in UTC.

    \b
    penstock spread resync product_resync --items stores.jsonl --batches 6 --mode each
    penstock spread newsletter send_email --items - --period 8h --queue mail < readers.jsonl
    penstock spread audit check_account --items accounts.jsonl --period 7d --start 2030-01-31T00:00:00Z
    """
    from penstock.client.client import enqueue_options
    from penstock.domain.options import DEFAULTS, check_name
    from penstock.domain.schedule.spread import make_spread

    options = job.options()
    begin = None if start is None else parse_moment(start, "--start")
    wanted: Any = mode
    plan = make_spread(name, period, batches, wanted)  # What is wrong is said before a long file is read.
    check_name(type, "job name")
    with app_on(store) as app:
        app.client.remember_types(app.store.read_types().wait())
        enqueue_options(app.client.types.get(type, DEFAULTS), options)
        lines = _lines(items)
        plan.refuse_too_many(len(lines))
        calls = list(_calls(app, type, items, lines, options))
        with progress_bar("storing", None):
            count = app.spread(name, calls, period=period, batches=batches, mode=wanted, start=begin)
        _report(name, type, len(calls), count, type in app.client.types, as_json)


def _calls(
    app: App, type: str, items: str, lines: list[tuple[int, str]], options: dict[str, Any]
) -> Iterator[JobCall[Any]]:
    """A call for each line of the file, with a bar on the terminal."""
    with progress_bar("reading", len(lines)) as bar:
        for count, (number, line) in enumerate(lines, start=1):
            if count % BAR_STEP == 0:
                bar.update(bar.task_ids[0], completed=count)
            try:
                yield app.client.call_by_name(type, parse_payload(line, EXAMPLE), options, app.client.types)
            except PenstockError as error:
                raise ConfigError(f"line {number} of {'stdin' if items == '-' else items}: {error}") from None


def _lines(items: str) -> list[tuple[int, str]]:
    """Those that are not blank, each with its number. A mark of the byte order, as Windows writes it, is no part."""
    try:
        with nullcontext(sys.stdin) if items == "-" else open(items, encoding="utf-8") as file:
            marked = (
                (number, line.removeprefix("\ufeff") if number == 1 else line) for number, line in enumerate(file, 1)
            )
            return [(number, line) for number, line in marked if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ConfigError(
            f"--items {items} cannot be read: {why}; give a file with a JSON object on each line"
        ) from None


def _report(name: str, type: str, items: int, count: int, known: bool, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "type": type, "items": items, "enqueued": count, "type_known": known})
        return
    say(f"{plural(count, 'job')} enqueued")
    if not items:
        say("note: there are no items", err=True)
    elif not count:
        say(f"note: {name} was spread before in this period; nothing new was stored", err=True)
    if not known:
        say(f"note: no worker has declared the type {type!r} in this store so far; the jobs wait", err=True)
