"""Groups of commands that do something by themselves: `penstock queues` lists, `penstock queues pause` pauses."""

from __future__ import annotations

import typer

from penstock.domain.errors import UsageError


def is_for_subcommand(ctx: typer.Context) -> bool:
    """Whether a command of the group follows. Options before it would be ignored, so they are refused."""
    if ctx.invoked_subcommand is None:
        return False
    given = [name for name, value in ctx.params.items() if value]
    if given:
        raise UsageError(f"options go after the command: {ctx.command_path} {ctx.invoked_subcommand} … --{given[0]}")
    return True
