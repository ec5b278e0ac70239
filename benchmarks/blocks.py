"""Two states of the code in turn, a few enqueues each: what a lone enqueue costs, with the interval of the ratio.

    python -m benchmarks.blocks --before ../old/.venv/bin/python --engine postgres --blocks 400

Both stay open beside each other, each with a store of its own, and one rests while the other works. What takes a
millisecond is measured so within a second of its rival; in whole runs (benchmarks/pairs.py) the drift of the machine is
twice as large as what is looked for. Of the server, the time of their own sessions counts. Alone on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pairs import interval, place

TURN = Path(__file__).with_name("block_turn.py")


@contextlib.contextmanager
def opened(python: str, url: str, server: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [python, str(TURN), url, str(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as state:
        assert state.stdout
        assert state.stdin
        if state.stdout.readline() != "ready\n":
            raise SystemExit(f"{python} did not open {url}; what it said is above.")
        yield state
        state.stdin.close()


def block(state: subprocess.Popen[str], count: int) -> list[float]:
    assert state.stdin
    assert state.stdout
    state.stdin.write(f"{count}\n")
    state.stdin.flush()
    costs: list[float] = json.loads(state.stdout.readline())
    return costs


def show(costs: list[tuple[list[float], list[float]]]) -> None:
    print(f"{'':16}{'before':>10}{'after':>10}   after ÷ before, 95 %")
    columns = {"processor": (0, 1), "  client": (0,), "  server": (1,), "elapsed": (2,)}
    for name, parts in columns.items():
        before, after = ([sum(pair[side][part] for part in parts) for pair in costs] for side in (0, 1))
        if not all(before):  # There is no server.
            continue
        mean, low, high = interval([new / old for old, new in zip(before, after, strict=True)])
        print(f"{name:16}{statistics.median(before):10.1f}{statistics.median(after):10.1f}   "
              f"{mean:.3f} ({low:.3f}–{high:.3f})", flush=True)  # fmt: skip


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--before", required=True, metavar="PYTHON")
    words.add_argument("--after", default=sys.executable, metavar="PYTHON")
    words.add_argument("--engine", choices=["sqlite", "postgres"], default="sqlite")
    words.add_argument("--blocks", type=int, default=400)
    words.add_argument("--enqueues", type=int, default=100, help="in each block")
    given = words.parse_args()
    costs: list[tuple[list[float], list[float]]] = []
    with place(given.engine) as (where, server), contextlib.ExitStack() as stack:
        urls = [f"{where}/{name}.db" if given.engine == "sqlite" else f"{where}?schema={name}"
                for name in ("before", "after")]  # fmt: skip
        states = [stack.enter_context(opened(python, url, server))
                  for python, url in zip((given.before, given.after), urls, strict=True)]  # fmt: skip
        try:
            for number in range(given.blocks):
                found = {side: block(states[side], given.enqueues) for side in random.sample((0, 1), 2)}
                costs.append((found[0], found[1]))
                print(f"{number + 1}/{given.blocks}", end="\r", file=sys.stderr, flush=True)
        finally:  # What was measured is shown, also after Ctrl-C.
            if len(costs) > 1:
                print(f"{given.engine}, {len(costs)} blocks of {given.enqueues} enqueues, microseconds for one")
                show(costs)


if __name__ == "__main__":
    main()
