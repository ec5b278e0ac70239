"""Two states of the code in turn, on this machine: processor time per job, with the 95 % interval of the ratio.

    python -m benchmarks.pairs --before ../old/.venv/bin/python --engine postgres --pairs 20

Each state is named by the Python that it is installed for. A turn is a process of its own on a fresh store
(benchmarks/pair_turn.py); which state goes first changes from pair to pair. Seconds drift on a busy machine by far more
than what is looked for here, processor time hardly: worker and server are counted together. Alone on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

TURN = Path(__file__).with_name("pair_turn.py")
T_95 = {20: 2.093, 24: 2.069, 30: 2.045, 40: 2.023}
"""Student's t for so many pairs; for others the nearest smaller."""


@contextlib.contextmanager
def place(engine: str) -> Iterator[tuple[str, int]]:
    """Where stores can be made, and the server's process or 0."""
    if engine == "sqlite":
        with tempfile.TemporaryDirectory(dir=".", prefix="pairs-") as folder:
            yield f"sqlite:///{Path(folder).resolve()}", 0
        return
    from tests.postgres.server import Server

    with Server(18, settings={"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB"}) as server:
        yield server.url(), server.pid


def turn(python: str, where: str, server: int, jobs: int, parts: str) -> dict[str, float]:
    name = f"pair_{uuid.uuid4().hex[:12]}"
    url = f"{where}/{name}.db" if where.startswith("sqlite") else f"{where}?schema={name}"
    done = subprocess.run(
        [python, str(TURN), url, str(server), str(jobs), parts], check=True, stdout=subprocess.PIPE, text=True
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The geometric mean, and the ends of its 95 % interval."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, spread = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    t = T_95[max((count for count in T_95 if count <= len(logs)), default=min(T_95))]
    return math.exp(mean), math.exp(mean - t * spread), math.exp(mean + t * spread)


def show(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> None:
    print(f"{'':24}{'before':>10}{'after':>10}   after ÷ before, 95 %")
    for name in pairs[0][0]:
        before, after = ([pair[side][name] for pair in pairs] for side in (0, 1))
        mean, low, high = interval([new / old for old, new in zip(before, after, strict=True)])
        print(f"{name:24}{statistics.median(before):10.1f}{statistics.median(after):10.1f}   "
              f"{mean:.3f} ({low:.3f}–{high:.3f})", flush=True)  # fmt: skip


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--before", required=True, metavar="PYTHON")
    words.add_argument("--after", default=sys.executable, metavar="PYTHON")
    words.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    words.add_argument("--pairs", type=int, default=20)
    words.add_argument("--jobs", type=int, default=30_000)
    words.add_argument("--parts", default="drain,enqueue,bulk,pickup", help="which of these to measure")
    given = words.parse_args()
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    with place(given.engine) as (where, server):
        try:
            for number in range(given.pairs):
                order = (0, 1) if number % 2 == 0 else (1, 0)
                states = (given.before, given.after)
                found = {side: turn(states[side], where, server, given.jobs, given.parts) for side in order}
                pairs.append((found[0], found[1]))
                print(f"{number + 1}/{given.pairs}", end="\r", file=sys.stderr, flush=True)
        finally:  # What was measured is shown, also after Ctrl-C.
            if len(pairs) > 1:
                print(f"{given.engine}, {len(pairs)} pairs, microseconds of processor time per job unless said")
                show(pairs)


if __name__ == "__main__":
    main()
