"""`penstock top`: what goes on right now, drawn anew every two seconds."""

from penstock.cli.top.command import top

__all__ = ["top"]
