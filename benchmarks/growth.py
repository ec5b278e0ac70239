"""How the cost per job grows, on both engines: with waiting jobs, history, tenants, types, processes; and plots of it.

    make bench-growth
    make bench-growth CURVES=waiting,history ENGINES=sqlite SIZE=full OUT=folder PLOTS=docs/images
    make bench-growth CURVES=snapshot MINUTES=30
    make bench-growth REPLOT=bench-results/growth-….json

Starts a private PostgreSQL, measures on a real disk, writes JSON, a Markdown table and SVG plots, and removes all else.
This file starts with the standard library alone: it installs penstock into an environment of its own in the user's
cache folder and then runs itself again with the Python of that environment.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.growth_curves import paper
from benchmarks.growth_curves.catalogue import CURVES, ENGINES, UnknownName, chosen_curves, chosen_engines
from benchmarks.growth_curves.results import NotOurs
from benchmarks.growth_curves.sizes import SIZES
from benchmarks.starting import INSIDE, check_python, run_inside, whole

OUT = Path("bench-results")


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-growth", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--curves", default="", help=f"which, with commas; all if left out: {', '.join(CURVES)}")
    parser.add_argument("--engines", default="", help=f"which, with commas; all if left out: {', '.join(ENGINES)}")
    parser.add_argument("--size", choices=SIZES, default="small", help="up to 1M jobs, or 10M; tiny only tries it")
    parser.add_argument("--rounds", type=whole, default=3, help="how often every point is measured")
    parser.add_argument("--minutes", type=whole, help="hold the snapshot for so long; one round")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder for Markdown and JSON")
    parser.add_argument("--plots", type=Path, help="the folder for the plots; that of --out if left out")
    parser.add_argument("--data", type=Path, help="the folder for the data, on a real disk")
    parser.add_argument("--replot", type=Path, metavar="FILE.json", help="draw the plots of an earlier run again")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main() -> None:
    check_python("make bench-growth")
    options = arguments(sys.argv[1:])
    try:
        curves, engines = chosen_curves(options.curves), chosen_engines(options.engines)
    except UnknownName as error:
        sys.exit(f"make bench-growth: {error}")
    if options.minutes and CURVES["snapshot"] not in curves:
        sys.exit("MINUTES= is for the snapshot curve: add it to CURVES=, or leave MINUTES= out")
    if options.replot:
        return replot(options.replot, options.plots or options.out)
    if not options.inside:
        run_inside("benchmarks.growth")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from benchmarks.growth_curves import session
    from benchmarks.growth_curves.measures import Plan

    plan = Plan(SIZES[options.size], options.rounds, options.minutes)
    sys.exit(session.run(curves, engines, plan, options.out, options.plots, options.data))


def replot(path: Path, folder: Path) -> None:
    try:
        results = paper.read(path)
    except NotOurs as error:
        sys.exit(f"{path}: {error}; name a growth-….json that make bench-growth wrote")
    for written in paper.write_plots(results, folder):
        print(f"written: {written}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; the server and all data are removed")
