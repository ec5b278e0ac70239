"""How commands speak: every line that they print passes here, and nothing in it steers a terminal or tells a secret."""

from __future__ import annotations

import sys

import typer


def say(line: str = "", *, err: bool = False) -> None:
    """Print for people: names, reasons and all else that comes from the store, an argument or the environment."""
    from penstock.observe.formats import printable

    typer.echo(printable(line, keep="\n\t"), err=err)


def say_error(line: str) -> None:
    """One red line. Errors may quote addresses and what servers answer."""
    from penstock.domain.secrets import hide_secrets
    from penstock.observe.formats import colourful, printable

    typer.secho(printable(hide_secrets(line)), fg="red", err=True, color=colourful(sys.stderr))
