"""What the machine itself gives, measured before every comparison: it shows how much the machine drifts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peer_bench.servers import Servers
from penstock.bench.raw_postgres import RawPostgres
from penstock.store.postgres.connection.address import parse

LOOP = 2_000_000
BATCH = 100


@dataclass(frozen=True)
class Calibration:
    """Millions of steps of a plain Python loop, and jobs through bare psycopg in batches of 100, both per second."""

    python_msteps_per_s: float
    cycle_per_s: float


def calibrate(servers: Servers, jobs: int) -> Calibration:
    return Calibration(_python(), _cycle(servers, jobs))


def _python() -> float:
    total, begun = 0, time.perf_counter()
    for step in range(LOOP):
        total += step & 7
    return LOOP / 1e6 / (time.perf_counter() - begun)


def _cycle(servers: Servers, jobs: int) -> float:
    servers.empty()
    raw = RawPostgres(parse(servers.addresses["CONTEST_POSTGRES"]), "public")
    try:
        return raw.cycle(jobs, BATCH)
    finally:
        raw.close()


def spread(values: Sequence[float]) -> float:
    """The highest by the lowest: 1 if the machine did not drift."""
    return max(values) / min(values) if values and min(values) > 0 else 1.0
