"""What is looked at, and what each key makes of that: pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.observe.top.order import sorts_of
from penstock.observe.top.rows import By

BY_KEY: Mapping[str, By] = {"t": "type", "u": "queue", "n": "tenant", "w": "worker"}
HELP = "t types, u queues, n tenants, w workers, s sort by something else, p pause, q quit"
QUIT = "q"


class View(msgspec.Struct, frozen=True):
    by: By
    sort: str
    paused: bool = False
    help: bool = False


def pressed(view: View, key: str) -> View:
    """The view after a key; the same after one that means nothing here."""
    match key.lower():
        case "s":
            return _changed(view, sort=_next(sorts_of(view.by), view.sort))
        case "p":
            return _changed(view, paused=not view.paused)
        case "?" | "h":
            return _changed(view, help=not view.help)
        case other if other in BY_KEY:
            known = sorts_of(BY_KEY[other])
            return _changed(view, by=BY_KEY[other], sort=view.sort if view.sort in known else known[0])
    return view


def _next(known: tuple[str, ...], sort: str) -> str:
    return known[(known.index(sort) + 1) % len(known)]


def _changed(view: View, **fields: object) -> View:
    return msgspec.structs.replace(view, **fields)
