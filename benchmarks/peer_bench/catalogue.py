"""The peers that can be measured: what to install, how each is run at its best, and what each gives for it.

Only the standard library is imported here: the choice of peers is checked before anything is installed.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Literal

Engine = Literal["postgres", "redis", "sqlite"]
Part = Literal["single", "single_plain", "bulk", "drain", "drain2", "pickup"]

ENGINE_NAMES: dict[Engine, str] = {"postgres": "PostgreSQL", "redis": "Redis", "sqlite": "SQLite"}
PART_NAMES: dict[Part, str] = {
    "single": "one by one",
    "single_plain": "one by one, plain code",
    "bulk": "bulk",
    "drain": "drain",
    "drain2": "drain, 2 processes",
    "pickup": "pickup",
}
COMMITTED = "yes (PostgreSQL, synchronous_commit on)"
IN_MEMORY = "no (Redis without a file)"
UVLOOP = "uvloop>=0.21,<1"
HIREDIS = "hiredis>=3,<4"
PSYCOPG = "psycopg[binary,pool]>=3.2,<4"


@dataclass(frozen=True)
class Facts:
    """What must be known to compare figures fairly."""

    durable: str
    keeps: str
    """What is left of a job that was done."""
    batches: str
    """Which of its ends work on many jobs at once."""
    concurrency: str
    handler: str


@dataclass(frozen=True)
class Peer:
    """A job queue. `packages` begins with the one whose version is shown; `share` of JOBS is what it drains."""

    name: str
    engine: Engine
    script: str
    packages: tuple[str, ...]
    facts: Facts
    share: float = 1.0
    bulk: bool = False
    two: bool = False
    """Whether two worker processes are measured too."""
    plain: bool = False
    """Whether it is enqueued to from plain code rather than async code."""
    python: tuple[int, int] = (3, 11)
    node: tuple[int, int] = (18, 0)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def is_node(self) -> bool:
        return self.script.endswith(".mjs")

    @property
    def package(self) -> str:
        """The name of the first package, without its version and extras."""
        return self.packages[0].replace("==", "@").split("@")[0].split("[")[0]

    @property
    def parts(self) -> tuple[Part, ...]:
        bulk: tuple[Part, ...] = ("bulk",) if self.bulk else ()
        two: tuple[Part, ...] = ("drain2",) if self.two else ()
        return ("single", *bulk, "drain", *two, "pickup")


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            name="graphile-worker", engine="postgres", script="run_graphile_worker.mjs", bulk=True, two=True,
            packages=("graphile-worker@0.17.3",), node=(20, 0),
            facts=Facts(
                COMMITTED, "nothing: the row is deleted", "claims (local queue of 500) and completions",
                "12 at once, completeJobBatchDelay 0", "async function, once per job",
            ),
        ),
        Peer(
            name="pg-boss", engine="postgres", script="run_pg_boss.mjs", bulk=True, two=True,
            packages=("pg-boss@12.35.0",), node=(22, 12),
            facts=Facts(
                COMMITTED, "the row, as completed", "claims and completions of 500, burstWhenBatchFull",
                "one batch at a time, LISTEN and NOTIFY", "async function, once per 500 jobs",
            ),
        ),
        Peer(
            name="pgqueuer", engine="postgres", script="run_pgqueuer.py", bulk=True, two=True,
            packages=("pgqueuer[asyncpg]==1.6.0", UVLOOP),
            facts=Facts(
                COMMITTED, "a row in its log table", "claims of 500 and completions", "batch_size 500, asyncpg, uvloop",
                "async function, once per job",
            ),
        ),
        Peer(
            name="chancy", engine="postgres", script="run_chancy.py", bulk=True, share=0.4,
            packages=("chancy[cli]==0.26.0", PSYCOPG, UVLOOP),
            facts=Facts(
                COMMITTED, "the row, as succeeded", "claims and completions", "500 at once, eager polling, uvloop",
                "async function, once per job",
            ),
        ),
        Peer(
            name="oban", engine="postgres", script="run_oban.py", bulk=True, share=0.2, python=(3, 12),
            packages=("oban==0.7.0", UVLOOP),
            facts=Facts(
                COMMITTED, "the row, as completed", "claims and completions", "1,000 at once, uvloop",
                "async method, once per job",
            ),
        ),
        Peer(
            name="saq-postgres", engine="postgres", script="run_saq.py", share=0.06,
            packages=("saq[redis,postgres,hiredis]==0.26.4", PSYCOPG, UVLOOP), environment={"CONTEST_SAQ": "postgres"},
            facts=Facts(
                COMMITTED, "the row, for 10 minutes", "none", "100 at once, pool of 20, uvloop",
                "async function, once per job",
            ),
        ),
        Peer(
            name="procrastinate", engine="postgres", script="run_procrastinate.py", bulk=True, share=0.06,
            packages=("procrastinate==3.10.0", PSYCOPG, UVLOOP),
            facts=Facts(
                COMMITTED, "nothing: deleted as set", "none", "20 at once, pool of 20, uvloop",
                "async function, once per job",
            ),
        ),
        Peer(
            name="bullmq", engine="redis", script="run_bullmq.mjs", bulk=True, packages=("bullmq@6.7.0", "ioredis@5"),
            facts=Facts(
                IN_MEMORY, "nothing: removeOnComplete", "none", "100 at once", "async function, once per job",
            ),
        ),
        Peer(
            name="dramatiq", engine="redis", script="run_dramatiq.py", share=0.2, plain=True,
            packages=("dramatiq[redis]==2.2.1", HIREDIS), environment={"dramatiq_queue_prefetch": "1000"},
            facts=Facts(
                IN_MEMORY, "nothing", "fetches ahead (1,000)", "1 process of 4 threads",
                "plain function in a thread, once per job",
            ),
        ),
        Peer(
            name="taskiq", engine="redis", script="run_taskiq.py", share=0.2,
            packages=("taskiq==0.13.0", "taskiq-redis==1.2.4", HIREDIS, UVLOOP, "orjson>=3,<4"),
            facts=Facts(
                IN_MEMORY, "the entry of the stream; no result", "fetches ahead (100)",
                "100 at once, stream broker, orjson, uvloop", "async function, once per job",
            ),
        ),
        Peer(
            name="saq-redis", engine="redis", script="run_saq.py", share=0.16,
            packages=("saq[redis,postgres,hiredis]==0.26.4", PSYCOPG, UVLOOP), environment={"CONTEST_SAQ": "redis"},
            facts=Facts(
                IN_MEMORY, "the job, for 10 minutes", "none", "50 at once, uvloop", "async function, once per job",
            ),
        ),
        Peer(
            name="arq", engine="redis", script="run_arq.py", share=0.1, packages=("arq==0.28.0", HIREDIS, UVLOOP),
            facts=Facts(
                IN_MEMORY, "nothing: keep_result 0", "none", "100 at once, poll delay 10 ms, uvloop",
                "async function, once per job",
            ),
        ),
        Peer(
            name="celery", engine="redis", script="run_celery.py", share=0.1, plain=True,
            packages=("celery[redis]==5.7.0", HIREDIS),
            facts=Facts(
                IN_MEMORY, "nothing: results ignored", "fetches ahead (100 per process)",
                "prefork, 2 processes, late acknowledgement", "plain function in a process, once per job",
            ),
        ),
        Peer(
            name="rq", engine="redis", script="run_rq.py", bulk=True, share=0.03, plain=True,
            packages=("rq==2.12.0", HIREDIS),
            facts=Facts(
                IN_MEMORY, "job and result, for 500 s", "none", "SimpleWorker, one at a time",
                "plain function, once per job",
            ),
        ),
        Peer(
            name="huey", engine="sqlite", script="run_huey.py", share=0.2, plain=True, packages=("huey==3.5.4",),
            facts=Facts(
                "at the enqueue (SQLite, full sync); at most once: removed before it runs", "nothing: results off",
                "none", "1 thread, polling every 10 to 50 ms", "plain function in a thread, once per job",
            ),
        ),
    )
}  # fmt: skip


class UnknownPeer(ValueError):
    """A name in PEERS= that is none."""


def chosen(names: str) -> list[Peer]:
    """The peers of a list with commas, in the order of the catalogue; all of them if it is empty."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in PEERS:
            raise UnknownPeer(f"there is no peer {name!r}{_meant(name)}; choose from: {', '.join(PEERS)}")
    return [peer for peer in PEERS.values() if peer.name in wanted or not wanted]


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name, PEERS, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
