"""What a worker or a coordinator says of itself when it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.output.say import say
from penstock.cli.running.guard import discard_stdout

if TYPE_CHECKING:
    from penstock.app import App


def say_banner(app: App, what: str, target: str | None, facts: dict[str, str], end: str) -> None:
    """Whoever reads it may have gone; the jobs still want to be done."""
    from importlib.metadata import version

    config = app.config.file if app.config else None
    told = {"app": target, "store": app.store.info.address, "config": config, **facts}
    lines = [f"  {name:<14}{value}" for name, value in told.items() if value]
    try:
        say("\n".join([f"penstock {version('penstock')} {what}", *lines, f"  {end}"]))
    except BrokenPipeError:
        discard_stdout()
