"""The clock of the store is set while workers run (A11): nobody who lives is lost, and who is gone is noticed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from penstock import App, State
from tests.contract.engines import Engine
from tests.e2e.processes import Processes, until

pytestmark = pytest.mark.turns

QUICK = {"heartbeat_interval": 0.4, "recovery_interval": 0.3, "leader_lease": 0.5, "concurrency": 1}
HOUR = 3600

SetClock = Callable[[int], None]

GATED = """
wall = time.time_ns
shift = {shift!r}
time.time_ns = lambda: wall() + int(open(shift).read()) * 10**9

@app.job(attempts=3, backoff=Fixed(0.01))
async def gated(gate: str) -> int:
    attempt = penstock.current().attempt
    say("begun", attempt)
    while attempt == 1 and not os.path.exists(gate):
        await asyncio.sleep(0.01)
    return attempt
"""


@pytest.fixture
def shift(tmp_path: Path) -> Path:
    """By how many seconds the machine of the workers is off: the clock of a store in SQLite."""
    path = tmp_path / "shift"
    path.write_text("0")
    return path


@pytest.fixture
def set_clock(engine: Engine, address: str, app: App, shift: Path) -> Iterator[SetClock]:
    """Sets the clock that decides."""

    def set_machine(seconds: int) -> None:
        new = shift.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(shift)

    def set_server(seconds: int) -> None:
        (schema,) = parse_qs(urlsplit(address).query)["schema"]
        with app.transaction() as tx:
            tx.execute(
                f'CREATE OR REPLACE FUNCTION "{schema}".moment(given bigint) RETURNS bigint LANGUAGE sql STABLE AS '
                "$$ SELECT coalesce(given, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
                f" + {seconds * 1_000_000}::bigint) $$"
            )

    set_to = set_machine if engine.kind == "sqlite" else set_server
    yield set_to
    set_to(0)


def heard(app: App) -> dict[int, int]:
    return {row.pid: row.heartbeat_at for row in app.store.list_workers().wait() if row.status == "active"}


def let_beat(app: App, times: int) -> None:
    """Until every worker was heard of so often since."""
    for _ in range(times):
        before = heard(app)
        until(lambda: all(heard(app).get(pid) != at for pid, at in before.items()), "all are heard of")  # noqa: B023


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_nobody_who_lives_is_lost(
    app: App, processes: Processes, gate: str, set_clock: SetClock, shift: Path, step: int
) -> None:
    workers = [processes.worker(GATED.format(shift=str(shift)), **QUICK) for _ in range(2)]
    jobs = [app.enqueue("gated", {"gate": gate}) for _ in range(2)]
    for worker in workers:
        worker.wait_for("begun 1")
    let_beat(app, 2)
    set_clock(step)
    let_beat(app, 6)
    set_clock(0)
    let_beat(app, 6)
    open(gate, "w").close()
    assert [job.result(timeout=30) for job in jobs] == [1, 1]
    assert [row.status for row in app.store.list_workers().wait()] == ["active", "active"]


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_who_is_gone_is_noticed_in_time(
    app: App, processes: Processes, gate: str, set_clock: SetClock, shift: Path, step: int
) -> None:
    """Its last heartbeat is an hour ago, or an hour ahead."""
    first = processes.worker(GATED.format(shift=str(shift)), **QUICK)
    job = app.enqueue("gated", {"gate": gate})
    first.wait_for("begun 1")
    until(lambda: job.state() is State.RUNNING, "the job is seen running")
    second = processes.worker(GATED.format(shift=str(shift)), **QUICK)
    first.send(signal.SIGKILL)
    first.wait()
    set_clock(step)
    second.wait_for("recovered 1 job of lost workers")
    assert job.result(timeout=30) == 2
