"""When a schedule is due, as it is written on a command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.complete import words

if TYPE_CHECKING:
    from penstock.app import App

MISFIRES = ("once", "skip", "all")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.", show_default=False)]
Cron = Annotated[
    str | None,
    typer.Option("--cron", metavar="FIELDS", help="Five fields, or six with seconds first, such as '0 3 * * *'."),
]
Every = Annotated[str | None, typer.Option("--every", metavar="D", help="Instead: at equal intervals, 15m or 1d.")]
Timezone = Annotated[
    str | None, typer.Option("--timezone", "--tz", metavar="ZONE", help="Such as Europe/Berlin.  [default: UTC]")
]
Start = Annotated[str | None, typer.Option("--start", metavar="TIME", help="Not before, such as 2030-01-31T12:00:00Z.")]
End = Annotated[str | None, typer.Option("--end", metavar="TIME", help="Not after.")]
Limit = Annotated[str | None, typer.Option("--limit", metavar="N", help="It fires so often at most.")]
Misfire = Annotated[
    str | None,
    typer.Option(
        "--misfire",
        metavar="once|skip|all",
        help="What is made of times that were missed: one job, none that is later than --grace, or each.",
        autocompletion=words(*MISFIRES),
    ),
]
Grace = Annotated[str | None, typer.Option("--grace", metavar="D", help="How late is not missed.  [default: 1m]")]


def given_times(
    cron: str | None, every: str | None, timezone: str | None, start: str | None, end: str | None, limit: str | None,
    misfire: str | None, grace: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What was given, as app.schedules takes it. The word `none` takes an end or a limit away."""
    from penstock.cli.moments import parse_moment
    from penstock.domain.texts import as_number

    plain = {"cron": cron, "every": every, "timezone": timezone, "misfire": misfire, "grace": grace}
    given: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
    for name, text in (("start", start), ("end", end)):
        if text is not None:
            given[name] = None if text == "none" else parse_moment(text, f"--{name}")
    if limit is not None:
        given["limit"] = None if limit == "none" else as_number(limit)
    return given


@contextmanager
def app_of(url: str | None) -> Iterator[App]:
    """An App on a store that exists, with the limits that its workers know."""
    from penstock.app import App
    from penstock.cli.storage import existing_store

    with existing_store(url) as opened:
        app = App(opened)
        app.client.use_limits(opened.read_limits().wait())
        yield app
