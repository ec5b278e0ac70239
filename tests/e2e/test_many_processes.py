"""Several workers and several clients on one file: every job takes effect exactly once."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from penstock import App, State
from tests.e2e.processes import Processes, counts

pytestmark = pytest.mark.turns

EACH = 1000

WORKER = """
import apsw

effects = apsw.Connection(settings.pop("effects"))
effects.set_busy_timeout(30_000)
effects.execute("PRAGMA synchronous = off")

@app.job(attempts=1)
async def effect(number: int) -> int:
    await asyncio.sleep(0)
    effects.execute("INSERT INTO effect (number, pid) VALUES (?, ?)", (number, os.getpid()))
    return number
"""

CLIENT = """
first = settings["first"]

@app.job(name="effect", attempts=1)
async def effect(number: int) -> int: ...

for number in range(first, first + settings["each"] // 2):
    effect.enqueue(number)
app.enqueue_many(effect.bind(number) for number in range(first + settings["each"] // 2, first + settings["each"]))
say("enqueued all")
"""


def test_two_workers_and_two_clients_do_everything_once(app: App, processes: Processes, tmp_path: Path) -> None:
    effects = apsw.Connection(str(tmp_path / "effects.db"))
    effects.execute("PRAGMA journal_mode = WAL").fetchall()
    effects.execute("CREATE TABLE effect (number INTEGER, pid INTEGER)")
    workers = [processes.worker(WORKER, effects=str(tmp_path / "effects.db"), concurrency=10) for _ in range(2)]
    clients = [processes.script(CLIENT, first=first, each=EACH) for first in (0, EACH)]
    for client in clients:
        assert client.wait(seconds=120) == 0, client.output
    app.enqueue("effect", {"number": 2 * EACH}, priority=-100).result(timeout=60)
    for worker in workers:
        worker.stop()
    assert counts(app) == {State.COMPLETED: 2 * EACH + 1}
    rows = effects.execute("SELECT number, pid FROM effect ORDER BY number").fetchall()
    effects.close()
    assert [number for number, _ in rows] == list(range(2 * EACH + 1)), "each effect exactly once"
    assert {pid for _, pid in rows} == {worker.pid for worker in workers}, "both workers took part"


def test_a_second_worker_with_the_same_id_is_refused_and_the_first_goes_on(app: App, processes: Processes) -> None:
    handlers = """
    @app.job
    async def add(number: int) -> int:
        return number + 1
    """
    first = processes.worker(handlers, worker_id="only-one")
    second = processes.launch(handlers, worker_id="only-one")
    assert second.wait() == 1
    message = second.wait_for("errors.WorkerRefused:")
    assert "a worker with the id 'only-one' is active" in message
    assert "give this one another id" in message
    assert app.enqueue("add", {"number": 1}).result(timeout=30) == 2
    first.stop()
