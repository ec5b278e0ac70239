"""Three pools of workers for one app: general, media with general, and ml.

Each job says what it needs; where it runs is decided by the workers. The general pool is set up by a file, the media
pool by the environment, the ml pool by flags. As a program this enqueues some of each, starts a worker of each pool,
and tells who ran what.

Run it: python examples/pools/pools.py (makes pools.db in the current folder)
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from penstock import App, Job, JobHandle, Resources

HERE = Path(__file__).parent
os.environ.setdefault("PENSTOCK_STORE", f"sqlite:///{Path.cwd() / 'pools.db'}")

app = App.from_config()  # The store, and the settings of its workers: file, environment, flags.


@app.job(queue="mail", worker_concurrency=5)  # The mail server takes five connections of each worker.
async def send_mail(to: str) -> str:
    await asyncio.sleep(0.02)
    return f"sent to {to}"


@app.job(capability="media", resources=Resources(cpu=4, memory="8Gi"), timeout="2h")
async def transcode(film: str) -> str:
    await asyncio.sleep(0.2)
    return f"{film}.webm"


@app.job(capability="ml", resources=Resources(gpu=1, memory="16Gi"), timeout="30m")
async def embed(text: str) -> int:
    await asyncio.sleep(0.1)
    return len(text)


# The pools

FLAGS = {
    "general": ["--config", "general.toml"],
    "media": [],
    "ml": ["--capabilities", "ml", "--concurrency", "4", "--job-timeout", "30m", "--gpu", "1", "--memory", "32Gi"],
}


def environment_of(pool: str) -> dict[str, str]:
    file = HERE / f"{pool}.env"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def start_worker(pool: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "penstock", "worker", "pools:app", "--id", pool, "--burst", *FLAGS[pool]]
    return subprocess.Popen(command, cwd=HERE, env={**os.environ, **environment_of(pool)}, stdout=subprocess.DEVNULL)


# The story


def most_at_once(jobs: list[Job]) -> int:
    moments = [(job.started_at, 1) for job in jobs] + [(job.finished_at, -1) for job in jobs]
    running = [0]
    for _, step in sorted((moment, step) for moment, step in moments if moment is not None):
        running.append(running[-1] + step)
    return max(running)


def main() -> None:
    handles: list[JobHandle[str] | JobHandle[int]] = [
        *app.enqueue_many(transcode.bind(f"film{n}") for n in range(4)),
        *app.enqueue_many(embed.bind(f"text {n}") for n in range(4)),
        *app.enqueue_many(send_mail.bind(f"user{n}@example.org") for n in range(40)),
    ]
    for worker in [start_worker(pool) for pool in FLAGS]:
        assert worker.wait() == 0
    done: dict[str, list[Job]] = {}
    for job in (handle.read() for handle in handles):
        done.setdefault(job.type, []).append(job)
    for name, jobs in done.items():
        ran = Counter(str(job.worker_id) for job in jobs)
        print(f"{name}: {len(jobs)} {jobs[0].state} on {', '.join(sorted(ran))}")
    print(f"media: at most {most_at_once(done['transcode'])} films at once, each with 4 of 8 cores")
    print(f"ml: at most {most_at_once(done['embed'])} text at once, for 1 GPU")
    app.close()


if __name__ == "__main__":
    main()
