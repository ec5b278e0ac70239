"""Ctrl-C at every named point of a worker and of a client: nothing is lost, nothing is left in two states."""

from __future__ import annotations

import signal
from pathlib import Path

import apsw
import pytest

from penstock import App, State
from tests.e2e.processes import Processes, counts, until

pytestmark = pytest.mark.turns

JOBS = 400

INTERRUPT_AT = """
def interrupt_at(owner, name, call=1):
    original = getattr(owner, name)
    calls = 0

    def interrupting(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == call:
            say("interrupting")
            os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **kwargs)

    setattr(owner, name, interrupting)

from penstock.store.sqlite.store import SqliteStore
from penstock.store.sqlite.connection.file import OpenFile
from penstock.worker import settings as worker_settings
from penstock.worker.executing.executor import Executor
from penstock.worker.worker import Worker
"""

HANDLERS = """
@app.job(attempts=1)
async def note(path: str, number: int) -> None:
    await asyncio.sleep(0)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{number}\\n".encode())
    os.close(descriptor)
"""

IN_HANDLER = """
interrupted = False

@app.job(attempts=1)
async def note(path: str, number: int) -> None:
    global interrupted
    if number == 100 and not interrupted:
        interrupted = True
        say("interrupting")
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.001)
    open(path, "a").write(f"{number}\\n")
"""

IN_THREAD = IN_HANDLER.replace("async def", "def").replace("await asyncio.sleep", "time.sleep")

WORKER_POINTS = {
    "when it registers": INTERRUPT_AT + "interrupt_at(SqliteStore, 'register_worker')" + HANDLERS,
    "before the first claim": INTERRUPT_AT + "interrupt_at(SqliteStore, 'claim_jobs')" + HANDLERS,
    "while it claims under load": INTERRUPT_AT + "interrupt_at(SqliteStore, 'claim_jobs', 4)" + HANDLERS,
    "in a handler": IN_HANDLER,
    "in a thread": IN_THREAD,
    "when it finishes under load": INTERRUPT_AT + "interrupt_at(SqliteStore, 'finish_jobs', 3)" + HANDLERS,
    "before a commit": INTERRUPT_AT + "interrupt_at(OpenFile, 'commit', 7)" + HANDLERS,
    "after a commit": INTERRUPT_AT + "interrupt_at(OpenFile, 'committed', 7)" + HANDLERS,
    "twice, the second while it drains": INTERRUPT_AT
    + "interrupt_at(SqliteStore, 'finish_jobs', 2); interrupt_at(Executor, 'release_buffer')"
    + HANDLERS,
    "when it signs off": INTERRUPT_AT
    + "interrupt_at(SqliteStore, 'finish_jobs', 2); interrupt_at(Worker, '_retire')"
    + HANDLERS,
}


@pytest.fixture
def address(tmp_path: Path) -> str:
    """The points of interruption are those of the SQLite engine."""
    return f"sqlite:///{tmp_path}/jobs.db"


def enqueue_notes(app: App, notes: Path) -> None:
    calls = [app.client.call_by_name("note", {"path": str(notes), "number": n}, {}, {}) for n in range(JOBS)]
    app.enqueue_many(calls)


def check_nothing_lost(app: App, processes: Processes, notes: Path) -> None:
    """The file is sound, each job is in one state, and a fresh worker brings all of them to their end."""
    assert check_integrity(app) == "ok"
    found = counts(app)
    assert sum(found.values()) == JOBS, found
    assert processes.worker(HANDLERS, burst=True).wait() == 0
    assert counts(app) == {State.COMPLETED: JOBS}
    assert set(map(int, notes.read_text().split())) == set(range(JOBS))


def check_integrity(app: App) -> object:
    db = apsw.Connection(app.store.info.address)
    try:
        return db.execute("PRAGMA integrity_check").get
    finally:
        db.close()


@pytest.mark.parametrize("point", WORKER_POINTS)
def test_interrupting_a_worker(app: App, processes: Processes, tmp_path: Path, point: str) -> None:
    notes = tmp_path / "notes"
    enqueue_notes(app, notes)
    worker = processes.launch(WORKER_POINTS[point], concurrency=5)
    worker.wait_for("interrupting", count=2 if "twice" in point or "signs off" in point else 1)
    assert worker.wait() == 0, worker.output
    assert "Traceback" not in worker.output
    assert set(counts(app)) <= {State.PENDING, State.COMPLETED}, "a stopped worker gives everything back"
    assert {row.status for row in app.store.list_workers().wait()} == {"inactive"}
    check_nothing_lost(app, processes, notes)


def test_interrupting_before_the_worker_listens_to_signals(app: App, processes: Processes, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    enqueue_notes(app, notes)
    point = "import penstock.app.running; interrupt_at(penstock.app.running, 'make_settings')"
    worker = processes.launch(INTERRUPT_AT + point + HANDLERS)
    worker.wait_for("interrupting")
    assert worker.wait() != 0
    worker.wait_for("KeyboardInterrupt")
    check_nothing_lost(app, processes, notes)


def test_interrupting_an_idle_worker(app: App, processes: Processes) -> None:
    worker = processes.worker(HANDLERS)
    worker.send(signal.SIGINT)
    assert worker.wait() == 0
    assert "Traceback" not in worker.output
    assert [row.status for row in app.store.list_workers().wait()] == ["inactive"]


def test_interrupting_twice_while_the_lifespan_hangs(app: App, processes: Processes) -> None:
    app.enqueue("note", {"path": "unused", "number": 1})
    worker = processes.launch(
        """
        from contextlib import asynccontextmanager

        @asynccontextmanager
        async def lifespan():
            say("entering")
            await asyncio.Event().wait()
            yield

        app = App(sys.argv[1], lifespan=lifespan)
        """
        + HANDLERS.replace("\n", "\n        ")
    )
    worker.wait_for("entering")
    worker.send(signal.SIGINT)
    worker.wait_for("stopping")
    worker.send(signal.SIGINT)
    assert worker.wait() == 0
    assert counts(app) == {State.PENDING: 1}
    assert [row.status for row in app.store.list_workers().wait()] == ["inactive"]


CLIENT_POINTS = {
    "before the transaction": "interrupt_at(OpenFile, 'begin')",
    "within the transaction": "import penstock.store.sqlite.hot.enqueue as e; interrupt_at(e, '_point_to_new')",
    "before the commit": "interrupt_at(OpenFile, 'commit')",
    "after the commit": "interrupt_at(OpenFile, 'committed')",
}


@pytest.mark.parametrize("point", CLIENT_POINTS)
def test_interrupting_enqueue_many_stores_all_or_nothing(app: App, processes: Processes, point: str) -> None:
    client = processes.script(
        INTERRUPT_AT
        + CLIENT_POINTS[point]
        + """
@app.job
async def note(number: int) -> None: ...

app.enqueue_many(note.bind(number) for number in range(20_000))
say("returned")
"""
    )
    client.wait_for("interrupting")
    assert client.wait() != 0
    client.wait_for("KeyboardInterrupt")
    assert check_integrity(app) == "ok"
    assert counts(app) in ({}, {State.PENDING: 20_000})
    if point == "after the commit":
        assert counts(app) == {State.PENDING: 20_000}
    client.wait_for("interrupted while enqueueing; it may have been stored")


def test_interrupting_a_loop_of_enqueues_keeps_all_that_returned(app: App, processes: Processes) -> None:
    client = processes.script(
        """
        @app.job
        async def note(number: int) -> None: ...

        number = 0
        while True:
            say("stored", note.enqueue(number).id)
            number += 1
        """
    )
    client.wait_for("stored", count=200)
    client.send(signal.SIGINT)
    assert client.wait() != 0
    client.wait_for("KeyboardInterrupt")
    assert check_integrity(app) == "ok"
    stored = [line.split()[1] for line in client.printed("stored ") if len(line.split()) == 2]
    assert len(stored) >= 200
    for job_id in stored:
        assert app.get(job_id).state() is State.PENDING
    assert counts(app)[State.PENDING] - len(stored) in (0, 1), "at most the interrupted one is in doubt"


def test_interrupting_a_wait_for_a_result_leaves_the_job_alone(app: App, processes: Processes) -> None:
    client = processes.script(
        """
        job = app.enqueue("note", {"path": "unused", "number": 1})
        say("waiting")
        job.result()
        """
    )
    client.wait_for("waiting")
    client.send(signal.SIGINT)
    assert client.wait() != 0
    until(lambda: counts(app) == {State.PENDING: 1}, "the job still waits")
