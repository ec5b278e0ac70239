"""How child processes begin and end: warm before the first job, never in vain, never left behind."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from penstock import App, ConfigError, State
from penstock.store.contract import ListJobs
from penstock.worker.processes import process
from tests.worker import process_jobs as jobs
from tests.worker.process_jobs import entries
from tests.worker.running import PATIENCE_SECONDS, beside_worker, burst, no_child_left, until

Tasks = Callable[[str], ModuleType]
NUMBERS = itertools.count()

HEAD = """
import asyncio, os, sys, time
from contextlib import asynccontextmanager
from pathlib import Path
from penstock import App

app = App("sqlite:///" + os.path.join(os.path.dirname(__file__), "jobs.db"))
in_child = "INSIDE" in os.environ

@app.job(runner="process", attempts=1)
def work() -> list[str]:
    return sys.path
"""


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tasks]:
    """Makes a module of this code and imports it; when children do, `in_child` is true."""

    made: list[ModuleType] = []

    def make(code: str) -> ModuleType:
        name = f"some_tasks_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(code))
        monkeypatch.syspath_prepend(tmp_path)
        made.append(import_module(name))
        monkeypatch.setenv("INSIDE", "1")
        return made[-1]

    yield make
    for module in made:
        module.app.close()
        sys.modules.pop(module.__name__, None)


def refused(app: App) -> str:
    with no_child_left(), pytest.raises(ConfigError) as error:
        burst(app, process_slots=2)
    return str(error.value)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("if in_child: import no_such_module", "ModuleNotFoundError: No module named 'no_such_module' (at "),
        ("if in_child: raise KeyError('HOME')", "KeyError: 'HOME' (at "),
        ("if in_child: sys.exit('not here')", "SystemExit: not here (at "),
        ("if in_child: os._exit(7)", "a child process ended before it was ready: exit code 7"),
        ("if in_child: os.abort()", "a child process ended before it was ready: killed by SIGABRT"),
        ("if in_child: del app", "has no attribute 'app'"),
        ("def other() -> None: ...\nif not in_child: app.job(runner='process')(other)",
         "'other' is not declared when its module is only imported"),
        ("@app.job\nasync def idle() -> None: ...\nif in_child: asyncio.run(app.run_worker(types='idle'))",
         "importing the module of this app starts a worker"),
        ("""
         @asynccontextmanager
         async def life():
             if in_child: raise OSError("no such database")
             yield

         app.lifespan = life
         """, "the lifespan raised OSError: no such database"),
    ],
    ids=["import", "error", "exit", "hard exit", "death", "no app", "no job", "worker", "lifespan"],
)  # fmt: skip
def test_an_app_that_no_child_can_load_is_an_error(tasks: Tasks, code: str, problem: str) -> None:
    message = refused(tasks(code).app)
    assert message.startswith("the process handlers of this app cannot run: ")
    assert problem in message


def test_a_first_child_that_is_killed_is_tried_again(tasks: Tasks, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    module = tasks(f"""
        if in_child:
            with open({str(begun)!r}, "a") as file:
                file.write(".")
            if len(open({str(begun)!r}).read()) <= 2:
                os.kill(os.getpid(), 9)
        """)
    with no_child_left():
        burst(module.app, process_slots=1)
    assert begun.read_text() == "..."


def test_an_app_that_no_child_can_find_is_an_error(app: App) -> None:
    app.job(name="echo", runner="process")(jobs.plain)
    assert "child processes cannot import this app" in refused(app)


def test_a_child_imports_where_the_handlers_are_rather_than_a_program_that_uses_them(
    tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tasks("")
    program = ModuleType("a_program")
    program.app = module.app  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "modules", {"a_program": program, **sys.modules})
    job = module.work.enqueue()
    burst(module.app, process_slots=1)
    assert job.state() is State.COMPLETED


def test_a_child_has_the_path_of_its_worker(tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a module beside the user's code that is named like one of Python's own does not get in the way."""
    (tmp_path / "signal.py").write_text("raise RuntimeError('not this one')")
    monkeypatch.chdir(tmp_path)
    module = tasks("")
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/not/a/string")])
    job = module.work.enqueue()
    burst(module.app, process_slots=1)
    assert job.result(0) == sys.path[:-1]


def test_a_child_that_cannot_begin_again_is_tried_until_it_can(
    tasks: Tasks, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module = tasks("if Path(__file__).with_name('broken').exists(): raise RuntimeError('half deployed')")
    broken = tmp_path / "broken"

    async def story() -> None:
        first = await module.work.aenqueue()
        await first.aresult(30)
        broken.touch()
        second = await module.work.aenqueue()  # The child is replaced after each job.
        await until(lambda: "half deployed" in caplog.text, "a new child could not begin")
        third = await module.work.aenqueue()
        broken.unlink()
        await second.aresult(30)
        await third.aresult(30)

    beside_worker(module.app, story, process_slots=1, max_jobs=1)


# Around the jobs


def test_children_are_ready_before_the_first_claim(process_app: App, diary: Path) -> None:
    async def story() -> None:
        await until(lambda: len(entries(diary, "enter")) == 3, "the worker and its children are ready, with no job yet")

    beside_worker(process_app, story, process_slots=2)


def test_each_child_enters_the_lifespan_once_and_leaves_it(process_app: App, diary: Path) -> None:
    handles = [jobs.pid_of.enqueue() for _ in range(10)]
    burst(process_app, process_slots=2)
    seen = [job.result(0) for job in handles]
    assert all(pid == resource for pid, resource in seen)
    entered, left = ([int(pid) for (pid,) in entries(diary, word)] for word in ("enter", "leave"))
    assert len(entered) == len(set(entered)) <= 3
    assert {pid for pid, _ in seen} <= set(entered) - {os.getpid()}
    assert {pid for pid, _ in seen} <= set(left)


def test_an_exit_of_a_stray_task_replaces_the_child(process_app: App, capfd: pytest.CaptureFixture[str]) -> None:
    stray = jobs.fail_in_task.enqueue()
    after = [jobs.echo_async.using(priority=-1).enqueue(number) for number in range(3)]
    burst(process_app, process_slots=1)
    assert stray.state() is State.DEAD
    assert [job.result(0) for job in after] == [0, 1, 2]


def test_a_leaving_child_that_hangs_is_killed(
    process_app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(process, "LEAVE_SECONDS", 0.05)

    async def story() -> None:
        job = await jobs.leave_thread.aenqueue()
        pid = await job.aresult(30)
        await until(lambda: not Path(f"/proc/{pid}").exists(), "it is gone, although a thread of it still ran")

    beside_worker(process_app, story, process_slots=1, max_jobs=1)


AT_IMPORT = """
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "penstock.worker.processes.child_main":
            print("interrupted", flush=True)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


def test_ctrl_c_while_a_child_imports_what_it_needs_is_left_to_the_worker() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.close()  # The worker is gone: it ends when it has begun.
        code = AT_IMPORT + process.CODE
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, str(theirs.fileno()), str(os.getpid()), process.OURS],
            pass_fds=[theirs.fileno()], capture_output=True, text=True, timeout=60, check=False,
            start_new_session=True,  # It kills its group at the end.
        )  # fmt: skip
    assert done.stdout == "interrupted\n"
    assert "KeyboardInterrupt" not in done.stderr


@pytest.mark.long
def test_many_replacements_leave_nothing_behind(process_app: App) -> None:
    jobs.die_first.enqueue(signal.SIGKILL)
    burst(process_app, process_slots=1)  # Opens what stays open: the store, and its bell for the retry.
    files, threads = held(), running()
    handles = process_app.enqueue_many(jobs.echo.bind(number) for number in range(20))
    dead = [jobs.die_first.enqueue(signal.SIGKILL) for _ in range(5)]
    burst(process_app, process_slots=3, max_jobs=1)
    assert [job.result(0) for job in handles] == list(range(20))
    assert [job.result(0) for job in dead] == [2] * 5
    assert held() == files
    assert running() == threads


def running() -> list[str]:
    """The names of the threads that stay: one that has told of the end of its child is about to end too."""
    for thread in threading.enumerate():
        if thread.name == "penstock-child":
            thread.join(PATIENCE_SECONDS)
    return sorted(thread.name for thread in threading.enumerate())


def held() -> list[str]:
    """What the files are that this process holds open."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}").split(":[")[0])
        except FileNotFoundError:
            pass  # It was the folder itself.
    return sorted(found)


def test_a_start_can_be_stopped(tasks: Tasks, caplog: pytest.LogCaptureFixture) -> None:
    """By the second signal, as everything: a child that never gets ready holds the worker up for no longer."""
    caplog.set_level(logging.INFO)
    module = tasks("if in_child: Path(__file__).with_name('begun').touch(); time.sleep(300)")
    begun = Path(module.__file__ or "").with_name("begun")

    async def main() -> bool:
        worker = asyncio.ensure_future(module.app.run_worker(process_slots=1))
        await until(begun.exists, "the child imports the app")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: "stopping: " in caplog.text, "the first signal")
        os.kill(os.getpid(), signal.SIGTERM)
        return await asyncio.wait_for(worker, 30)

    with no_child_left():
        assert asyncio.run(main()) is False


def test_a_child_gathers_the_results_of_steps(tasks: Tasks) -> None:
    module = tasks("""
        from penstock import Context

        @app.job(runner="process")
        def item(number: int) -> int:
            return number

        @app.job(runner="process")
        def gather(ctx: Context) -> list[int]:
            return ctx.results("item")

        flow = app.workflow("flow")
        flow.step(gather.bind(), after=flow.step([item.bind(number) for number in range(3)]))
        """)
    handle = module.flow.enqueue()
    with no_child_left():
        burst(module.app, process_slots=1)
    (job,) = module.app.store.list_jobs(ListJobs(parent=handle.id, type="gather")).wait()
    assert (job.state, job.result) == (State.COMPLETED, [0, 1, 2])
