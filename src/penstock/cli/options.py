"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Such as sqlite:///jobs.db or postgresql://user@host/database.  "
        "[default: PENSTOCK_STORE, or store in penstock.toml]",
        show_default=False,
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="PATH", help="The config file.  [default: PENSTOCK_CONFIG, or penstock.toml if it exists]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for a confirmation.")]
Force = Annotated[bool, typer.Option("--force", help="Also those that were retried before.")]
Target = Annotated[
    str, typer.Argument(metavar="MODULE:APP", help="Where the App is, such as tasks:app.", show_default=False)
]
TypeFilter = Annotated[str | None, typer.Option("--type", metavar="NAME", help="Only jobs of this type.")]
QueueFilter = Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Only jobs in this queue.")]
TenantFilter = Annotated[
    str | None, typer.Option("--tenant", metavar="ORG[/WORKSPACE]", help="Only jobs of this tenant.")
]
TagFilter = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only jobs with this tag.")]
ErrorFilter = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="Only those whose error contains this.")
]
BeforeFilter = Annotated[
    str | None,
    typer.Option("--before", metavar="TIME", help="Only those that ended before, such as 2030-01-31T12:00:00Z."),
]
