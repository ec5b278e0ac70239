"""The process job of a benchmark. In a module of its own, since child processes import the app by name."""

from __future__ import annotations

import os
from typing import cast

from penstock.app import App
from penstock.bench.jobs import ADDRESS, APART, HISTORY
from penstock.store.contract import History

app = App(os.environ.get(ADDRESS, "sqlite:///bench.db"), history=cast(History, os.environ.get(HISTORY, "default")))


@app.job(name=APART, runner="process")
def apart(to: str, subject: str, body: str) -> None:
    """Do nothing, in a process."""
