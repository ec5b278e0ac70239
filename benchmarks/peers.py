"""penstock beside other job queues, on this machine, in one table.

    make bench-peers
    make bench-peers PEERS=graphile-worker,pgqueuer,huey JOBS=20000 ROUNDS=1

Installs what is needed into environments of its own in the user's cache folder, starts private servers, measures
penstock and the peers in turn, prints a table and writes Markdown and JSON. This file starts with the standard library
alone: it installs penstock and then runs itself again with the Python of that environment.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.peer_bench.catalogue import PEERS, UnknownPeer, chosen
from benchmarks.starting import INSIDE, check_python, run_inside, whole


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", default="", help=f"which, with commas; all if left out: {', '.join(PEERS)}")
    parser.add_argument("--jobs", type=whole, default=50_000, help="how many jobs a fast contestant drains")
    parser.add_argument("--rounds", type=whole, default=3, help="how often everything is measured")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="the folder for Markdown and JSON")
    parser.add_argument("--data", type=Path, default=None, help="the folder for the servers' data, on a real disk")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main() -> None:
    check_python("make bench-peers")
    options = arguments(sys.argv[1:])
    try:
        peers = chosen(options.peers)
    except UnknownPeer as error:
        sys.exit(f"PEERS: {error}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not options.inside:
        run_inside("benchmarks.peers")
    from benchmarks.peer_bench import session

    sys.exit(session.run(peers, options.jobs, options.rounds, options.out, options.data))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; servers and their data are removed")
