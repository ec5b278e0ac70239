"""How commands speak: every line that they print passes here, and nothing in it steers a terminal or tells a secret."""

from __future__ import annotations

import sys

import typer

CHARS_MAX = 2_000
"""Of what a command says by itself, beside what it was asked for. Whoever gave more knows what it was."""


def say(line: str = "", *, err: bool = False) -> None:
    """Print for people: names, reasons and all else that comes from the store, an argument or the environment."""
    from penstock.observe.formats import printable

    text = printable(line, keep="\n\t")
    typer.echo(shortened(text) if err else text, err=err)


def say_error(line: str) -> None:
    """One red line. Errors may quote addresses and what servers answer."""
    from penstock.observe.formats import colourful

    typer.secho(quoting(line), fg="red", err=True, color=colourful(sys.stderr))


def quoting(message: str, keep: str = "") -> str:
    """What is said of a wrong use or of a failure quotes what was given: without its passwords, and not all of it."""
    from penstock.domain.failure.secrets import hide_secrets
    from penstock.observe.formats import printable

    return shortened(printable(hide_secrets(message), keep))


def shortened(text: str) -> str:
    """The text without its middle if it is long: the fix is at its end."""
    if len(text) <= CHARS_MAX:
        return text
    half = CHARS_MAX // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"
