"""Does a worker stay modest? Its memory over many jobs, and what it costs while idle; on SQLite, on a real disk.

    python benchmarks/limits.py FOLDER [memory|idle ...] [--small]

Prints one JSON line per question. Runs alone for several minutes. How the cost per job grows is measured by
make bench-growth.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from penstock import App, Fixed

BODY = "x" * 120
SMALL = "--small" in sys.argv


def new_app(folder: Path, name: str) -> App:
    for end in ("", "-wal", "-shm", "-lock"):
        (folder / f"{name}.db{end}").unlink(missing_ok=True)
    return App(f"sqlite:///{folder}/{name}.db")


def say(question: str, **answers: object) -> None:
    sys.stdout.write(json.dumps({"question": question, **answers}) + "\n")
    sys.stdout.flush()


def memory(folder: Path) -> None:
    total, page = (200_000 if SMALL else 1_000_000), resource.getpagesize()
    app = new_app(folder, "memory")
    seen: list[float] = []
    count = 0

    def rss_mib() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * page / 2**20

    @app.job(name="sometimes", attempts=2, backoff=Fixed(0))
    async def sometimes(n: int, body: str) -> None:
        nonlocal count
        count += 1
        if count % 50_000 == 0:
            seen.append(round(rss_mib(), 1))
        if n % 10 == 0:
            raise ValueError("one in ten")

    for begun in range(0, total, 20_000):
        app.enqueue_many([sometimes.bind(n, BODY) for n in range(begun, begun + 20_000)])
        asyncio.run(app.run_worker(burst=True))
    say("resident memory of a worker over its jobs, one in ten failing", jobs=total, runs=count, rss_mib=seen,
        growth_after_50k_mib=round(seen[-1] - seen[0], 1))  # fmt: skip


def idle(folder: Path) -> None:
    new_app(folder, "idle").store.migrate()
    code = (
        "import asyncio; from penstock import App\n"
        f"app = App('sqlite:///{folder}/idle.db')\n"
        "@app.job\n"
        "async def noop() -> None: pass\n"
        "asyncio.run(app.run_worker())"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(3)
        before, begun = _cpu_seconds(child.pid), time.monotonic()
        time.sleep(20)
        used = _cpu_seconds(child.pid) - before
        say("share of a core of an idle worker", percent=round(100 * used / (time.monotonic() - begun), 2))
    finally:
        child.terminate()
        child.wait()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


QUESTIONS: dict[str, Callable[[Path], None]] = {
    "memory": memory,
    "idle": idle,
}


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or not set(words[1:]) <= set(QUESTIONS):
        sys.exit(__doc__)
    logging.disable(logging.ERROR)
    folder = Path(words[0]).absolute()
    for name in words[1:] or QUESTIONS:
        QUESTIONS[name](folder)


if __name__ == "__main__":
    main()
