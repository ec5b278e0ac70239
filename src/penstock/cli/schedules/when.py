"""When a schedule is due, as it is written on a command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from penstock.cli.input.complete import words
from penstock.cli.input.moments import parse_moment
from penstock.domain.texts import as_number

MISFIRES = ("once", "skip", "all")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class TimeFlags:
    """When it is due, and what becomes of what was missed."""

    cron: Annotated[
        str | None,
        typer.Option("--cron", metavar="FIELDS", help="Five fields, or six with seconds first, such as '0 3 * * *'."),
    ] = None
    every: Annotated[
        str | None, typer.Option("--every", metavar="D", help="Instead: at equal intervals, 15m or 1d.")
    ] = None
    timezone: Annotated[
        str | None, typer.Option("--timezone", "--tz", metavar="ZONE", help="Such as Europe/Berlin.  [default: UTC]")
    ] = None
    start: Annotated[
        str | None, typer.Option("--start", metavar="TIME", help="Not before, such as 2030-01-31T12:00:00Z.")
    ] = None
    end: Annotated[str | None, typer.Option("--end", metavar="TIME", help="Not after.")] = None
    limit: Annotated[str | None, typer.Option("--limit", metavar="N", help="It fires so often at most.")] = None
    misfire: Annotated[
        str | None,
        typer.Option(
            "--misfire",
            metavar="once|skip|all",
            help="What is made of times that were missed: one job, none that is later than --grace, or each.",
            autocompletion=words(*MISFIRES),
        ),
    ] = None
    grace: Annotated[
        str | None, typer.Option("--grace", metavar="D", help="How late is not missed.  [default: 1m]")
    ] = None

    def given(self) -> dict[str, Any]:
        """What was given, as app.schedules takes it. The word `none` takes an end or a limit away."""
        read: dict[str, Callable[[str], Any]] = {
            "start": lambda text: parse_moment(text, "--start"),
            "end": lambda text: parse_moment(text, "--end"),
            "limit": as_number,
        }
        given = {name: value for name, value in asdict(self).items() if value is not None}
        for name in read:
            if name in given:
                given[name] = None if given[name] == "none" else read[name](given[name])
        return given
