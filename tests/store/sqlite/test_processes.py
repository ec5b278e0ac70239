"""Many processes on one file, and processes that fork."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from penstock.store.contract import ClaimJobs, RegisterWorker
from tests.store.sqlite.conftest import MakeStore, integrity, stored_ids

JOBS_EACH = 120

WORK = """
import json, sys
from penstock.store.contract import ClaimJobs, Completed, EnqueueJobs, FinishJobs, JobSpec, NewJob, RegisterWorker
from penstock.store.sqlite.store import SqliteStore

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
store = SqliteStore(path)
worker = RegisterWorker(worker_id=name, host="h", pid=1, version="1", slots=9, stale_after=60.0)
session = store.register_worker(worker).wait().session
claimed = []
for number in range(count):
    store.enqueue_jobs(EnqueueJobs([NewJob(f"{name}-{number}", "{}", JobSpec(type=f"type{number % 7}"))])).wait()
    if number % 3 == 0:
        claims = store.claim_jobs(ClaimJobs(session, 4)).wait().jobs
        lost = store.finish_jobs(FinishJobs(completed=[Completed(claim.token, 0) for claim in claims])).wait().lost
        assert lost == [], lost
        claimed += [(claim.id, claim.token) for claim in claims]
store.close()
print(json.dumps(claimed))
"""

ASK = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
from penstock import App, Unique

path, count = sys.argv[1], int(sys.argv[2])
app = App(f"sqlite:///{path}")
app.store.count_jobs().wait()
print("ready", flush=True)
sys.stdin.readline()
together = threading.Barrier(count)

def ask(number):
    together.wait(30)
    job = app.enqueue("task", {}, unique=Unique("key"))
    return job.id, job.created

with ThreadPoolExecutor(count) as pool:
    print(json.dumps(list(pool.map(ask, range(count)))))
app.close()
"""


MAKE = """
import sys, time
from penstock import App

for line in sys.stdin:
    path, moment = line.split()
    while time.time() < float(moment):
        pass
    app = App(f"sqlite:///{path}")
    app.enqueue("task", {})
    app.close()
    print("made", flush=True)
"""


@contextmanager
def python(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def answer(process: subprocess.Popen[str], text: str = "\n") -> Any:
    out, err = process.communicate(text, timeout=60)
    assert process.returncode == 0, err
    return json.loads(out)


def test_whoever_makes_a_file_in_the_same_moment_makes_it(tmp_path: Path) -> None:
    """SQLite lets one of them switch a new file to its log, and refuses the others without waiting."""
    with python(MAKE) as one, python(MAKE) as two, python(MAKE) as three, python(MAKE) as four:
        for number in range(25):
            moment = time.time() + 0.02
            for process in (one, two, three, four):
                assert process.stdin is not None
                process.stdin.write(f"{tmp_path}/{number}.db {moment}\n")
                process.stdin.flush()
            for process in (one, two, three, four):
                assert process.stdout is not None
                assert process.stdout.readline() == "made\n", answer(process, "")


def test_four_processes_make_a_file_and_lose_nothing(make_store: MakeStore, path: Path) -> None:
    names = [f"p{number}" for number in range(4)]
    arguments = [(str(path), name, str(JOBS_EACH)) for name in names]
    with (
        python(WORK, *arguments[0]) as one,
        python(WORK, *arguments[1]) as two,
        python(WORK, *arguments[2]) as three,
        python(WORK, *arguments[3]) as four,
    ):
        processes = (one, two, three, four)
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        claimed = [tuple(claim) for process in processes for claim in answer(process, "")]
    store = make_store()
    worker = RegisterWorker(worker_id="rest", host="h", pid=1, version="1", slots=9, stale_after=60.0)
    session = store.register_worker(worker).wait().session
    claimed += [(claim.id, claim.token) for claim in store.claim_jobs(ClaimJobs(session, 10_000)).wait().jobs]
    everything = {f"{name}-{number}" for name in names for number in range(JOBS_EACH)}
    assert stored_ids(store) == everything
    assert sorted(job_id for job_id, _ in claimed) == sorted(everything)
    assert len({token for _, token in claimed}) == len(everything)
    assert integrity(path) == "ok"


def test_of_twenty_who_ask_for_one_key_in_four_processes_one_makes_a_job(make_store: MakeStore, path: Path) -> None:
    store = make_store()
    store.migrate()
    with ExitStack() as stack:
        processes = [stack.enter_context(python(ASK, str(path), "5")) for _ in range(4)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [tuple(one) for process in processes for one in answer(process, "")]
    [winner] = [job_id for job_id, created in told if created]
    assert (len(told), {job_id for job_id, _ in told}) == (20, {winner})
    assert stored_ids(store) == {winner}


FORK = """
import gc, json, os, sys, threading
from penstock.domain.errors import PenstockError
from penstock.store.contract import EnqueueJobs, ListJobs, JobSpec, NewJob
from penstock.store.sqlite.store import SqliteStore

path, during_transaction = sys.argv[1], sys.argv[2] == "during"
store = SqliteStore(path)

def enqueue(store, job_id):
    return store.enqueue_jobs(EnqueueJobs([NewJob(job_id, "{}", JobSpec(type="t"))])).wait()

def begin():
    with store.transaction():
        pass

def try_all():
    said = []
    for use in (
        lambda: enqueue(store, "from-child"),
        lambda: store.list_jobs(ListJobs()).wait(),
        begin,
        store.version,
    ):
        try:
            use()
            said.append("nothing")
        except PenstockError as error:
            said.append(type(error).__name__)
    return said

enqueue(store, "before")
inside, leave = threading.Event(), threading.Event()

def hold():
    with store.transaction():
        inside.set()
        leave.wait()

holder = threading.Thread(target=hold)
if during_transaction:
    holder.start()
    inside.wait()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    said = try_all()
    store.close()
    if not during_transaction:
        mine = SqliteStore(path)
        enqueue(mine, "by-child")
        mine.close()
    del store
    gc.collect()
    os.write(writer, json.dumps(said).encode())
    os._exit(0)
os.close(writer)
said = b""
while part := os.read(reader, 65536):
    said += part
_, status = os.waitpid(child, 0)
leave.set()
if during_transaction:
    holder.join()
enqueue(store, "after")
ids = sorted(job.id for job in store.list_jobs(ListJobs()).wait())
store.close()
print(json.dumps([json.loads(said), status, ids]))
"""


def test_a_child_that_was_forked_is_refused_and_harms_nothing(path: Path) -> None:
    with python(FORK, str(path), "idle") as process:
        said, status, ids = answer(process)
    assert said == ["StoreForked"] * 4
    assert status == 0
    assert ids == ["after", "before", "by-child"]
    assert integrity(path) == "ok"


def test_a_fork_in_the_middle_of_a_transaction(path: Path) -> None:
    with python(FORK, str(path), "during") as process:
        said, status, ids = answer(process)
    assert (said, status, ids) == (["StoreForked"] * 4, 0, ["after", "before"])
    assert integrity(path) == "ok"
