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
