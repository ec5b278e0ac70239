"""The screen that is drawn again and again, until somebody has seen enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.cli.input.storage import existing_store, found, required
from penstock.cli.output.tables import console
from penstock.cli.top.keys import Keys, ended_by_sigterm, keys
from penstock.cli.top.looks import Looks
from penstock.cli.top.screen import page
from penstock.cli.top.view import QUIT, View, pressed
from penstock.observe.top.look import look

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

    from penstock.store.contract import SqlStore

TICK_SECONDS = 1.0
"""What is shown says how old it is."""


def run(url: str | None, view: View, interval: float) -> None:
    """Until q, Ctrl-C or SIGTERM. That there is no store is an error; one that goes away later is waited for."""
    from rich.live import Live

    address = required(url)
    with existing_store(address) as opened:
        first, shown = look(opened), opened.info.address
    looks = Looks(lambda: _opened(address), first, interval)
    out = console()
    try:
        with ended_by_sigterm(), keys() as heard, Live(console=out, screen=True, auto_refresh=False) as live:
            _follow(live, looks, heard, view, shown)
    finally:
        looks.end()
    if looks.failure is not None:
        raise looks.failure


def _opened(address: str) -> SqlStore:
    from penstock.engines import open_store

    store = open_store(address, create=False)
    try:
        found(store, address)
        return store
    except BaseException:
        store.close()
        raise


def _follow(live: Live, looks: Looks, heard: Keys, view: View, address: str) -> None:
    while looks.failure is None:
        live.update(_drawn(looks, view, address, live.console.size), refresh=True)
        for key in heard.wait(looks.bell, TICK_SECONDS):
            if key == QUIT:
                return
            view = pressed(view, key)
        looks.paused = view.paused


def _drawn(looks: Looks, view: View, address: str, size: tuple[int, int]) -> Group:
    from rich.console import Group

    ago = time.monotonic() - looks.taken
    return Group(*page(looks.newest, view, address, ago=ago, size=size, trouble=looks.trouble))
