"""The PostgreSQL engine's figures that `penstock bench` does not give, each beside what it is compared with.

    python benchmarks/postgres.py ADDRESS [CELL ...] [--small]

ADDRESS is that of a private server, alone on the machine, on a real disk: postgresql://user@host:5433/database.
Every cell works in schemas of its own and drops them. Prints one JSON line per cell, and on stderr a line for people.
Without cells all are measured but the long ones. --small only tries the script: its figures mean nothing. How the cost
grows, with a backlog, history, a held snapshot or many types, is measured by make bench-growth. The cells:

"""

from __future__ import annotations

import logging
import platform
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from postgres_cells import claims, drains, workers
from postgres_cells.bed import Run, progress, report

from penstock.bench.fresh_store import bench_store
from penstock.domain.errors import PenstockError
from penstock.engines import SqliteAddress, parse_address
from penstock.program.loop import loop_name

CELLS: dict[str, Callable[[Run], None]] = {
    cell.__name__: cell
    for cell in (
        drains.drain1, drains.drain2, claims.arrivals, claims.writer, drains.retention, claims.cost, workers.pickup,
        workers.idle, workers.memory,
    )
}  # fmt: skip
LONG = {"memory"}
SAFE = {"fsync": "on", "synchronous_commit": "on"}


def usage() -> NoReturn:
    cells = "\n".join(f"    {name:<11} {cell.__doc__}" for name, cell in CELLS.items())
    sys.exit(f"{(__doc__ or '').rstrip()}\n\n{cells}")


def settings(run: Run) -> None:
    """What the figures depend on."""
    with bench_store(run.address) as place:
        found = place.settings()
    found |= {"python": platform.python_version(), "event_loop": loop_name(), "small": run.small}
    found.pop("schema")
    unsafe = [f"{name} is {found[name]}" for name, value in SAFE.items() if found[name] != value]
    warning = f"; not comparable: {', '.join(unsafe)}" if unsafe else ""
    report("settings", f"PostgreSQL {found['server_version']}, {found['driver']}{warning}", **found)


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--small"]
    if not words or not set(words[1:]) <= set(CELLS):
        usage()
    logging.disable(logging.ERROR)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parsed = parse_address(words[0])
    if isinstance(parsed, SqliteAddress) or parsed.names_schema:
        sys.exit("name a PostgreSQL server, without schema=: every cell makes schemas of its own")
    run = Run(words[0], "--small" in sys.argv)
    settings(run)
    for name in words[1:] or [name for name in CELLS if name not in LONG]:
        progress(f"{name}: {CELLS[name].__doc__}")
        CELLS[name](run)


if __name__ == "__main__":
    try:
        main()
    except PenstockError as error:
        sys.exit(f"penstock: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped; the schemas of this run are dropped")
