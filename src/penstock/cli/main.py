"""The command `penstock`: where it begins and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from penstock.cli.commands import SETTINGS, Commands
from penstock.cli.running.guard import discard_stdout

app = typer.Typer(
    name="penstock",
    cls=Commands,
    help="Background jobs in a durable store: run workers, enqueue, look, retry.\n\n"
    "Start with: penstock demo. Then: penstock worker tasks:app.",
    pretty_exceptions_enable=False,
    **SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"penstock {version('penstock')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit. A pipe that its reader closed is not an error."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_characters(stream)
    before = sys.stdout
    try:
        app(args=args, prog_name="penstock")
    except SystemExit as leaving:
        code = leaving.code
        # typer swaps stdout when it meets a closed pipe; that is how it can be told from a failure.
        if sys.stdout is not before:
            discard_stdout()
            code = 0
        sys.exit(_flushed(code))


def _never_fail_on_characters(stream: Any) -> None:
    """A terminal that cannot show a character gets its escape instead of an error."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _flushed(code: Any) -> Any:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    return code
