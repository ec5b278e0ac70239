"""Handlers in child processes: whatever one does, its job has the right outcome and its neighbours go on."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Fixed, HandlerError, JobHandle, ProcessDied, State
from penstock.domain.job import Job
from penstock.program.loop import new_event_loop
from penstock.store.contract import ListJobs
from penstock.worker.executors import Executors
from penstock.worker.processes import process
from penstock.worker.running.run import StopReason
from tests.e2e.supervised import alive
from tests.worker import process_jobs as jobs
from tests.worker.process_jobs import entries, store_in
from tests.worker.running import PATIENCE_SECONDS, beside_worker, burst, until, until_state

DIED = "penstock.domain.errors.ProcessDied"


def text_of(job: Job) -> tuple[str, str] | None:
    return None if job.error is None else (job.error.type, job.error.message)


# One burst with every kind of trouble, and honest neighbours between them

TROUBLE: dict[str, tuple[Callable[[], JobHandle[Any]], State, int, Any]] = {
    # what: (enqueue, state, crashes, result or error)
    "os._exit(0)": (
        lambda: jobs.exit_hard.enqueue(0),
        State.DEAD, 1, (DIED, "the process of this job ended: exit code 0"),
    ),
    "SIGSEGV": (
        lambda: jobs.die_first.using(attempts=1).enqueue(signal.SIGSEGV),
        State.DEAD, 1, (DIED, "the process of this job ended: killed by SIGSEGV"),
    ),
    "SIGKILL": (
        lambda: jobs.die_first.using(attempts=1).enqueue(signal.SIGKILL),
        State.DEAD, 1,
        (DIED, "the process of this job ended: killed by SIGKILL, perhaps out of memory"),
    ),
    "dies once": (lambda: jobs.die_first.enqueue(signal.SIGKILL), State.COMPLETED, 1, 2),
    "closes all files": (
        jobs.close_files.enqueue,
        State.DEAD, 1, (DIED, "the process of this job ended: exit code 1"),
    ),
    "sys.exit(3)": (lambda: jobs.fail_with.enqueue("SystemExit"), State.DEAD, 0, ("SystemExit", "3")),
    "KeyboardInterrupt": (
        lambda: jobs.fail_with.enqueue("KeyboardInterrupt"), State.DEAD, 0, ("KeyboardInterrupt", ""),
    ),
    "async sys.exit(3)": (lambda: jobs.fail_async.enqueue("SystemExit"), State.DEAD, 0, ("SystemExit", "3")),
    "async KeyboardInterrupt": (
        lambda: jobs.fail_async.enqueue("KeyboardInterrupt"), State.DEAD, 0, ("KeyboardInterrupt", ""),
    ),
    "broken str()": (
        lambda: jobs.fail_with.enqueue("BrokenText"),
        State.DEAD, 0, ("tests.worker.process_jobs.BrokenText", "<the exception's own str() raised RuntimeError>"),
    ),
    "recursion": (
        jobs.recurse.enqueue, State.DEAD, 0, ("RecursionError", "maximum recursion depth exceeded"),
    ),
    "prints rubbish": (jobs.print_rubbish.enqueue, State.COMPLETED, 0, None),
    "leaves a thread": (lambda: jobs.leave_thread.enqueue(), State.COMPLETED, 0, ...),
    "forks and returns twice": (jobs.fork_and_return.enqueue, State.COMPLETED, 0, "the child"),
    "900 KiB": (lambda: jobs.echo.enqueue("é" * 450 * 1024), State.COMPLETED, 0, "é" * 450 * 1024),
    "async": (lambda: jobs.echo_async.enqueue({"a": [1, None]}), State.COMPLETED, 0, {"a": [1, None]}),
}  # fmt: skip


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Job], list[Job]]]:
    with store_in(tmp_path_factory.mktemp("troubled")) as process_app:
        neighbours: list[JobHandle[Any]] = []
        troubles: dict[str, JobHandle[Any]] = {}
        for number, (what, (enqueue, *_)) in enumerate(TROUBLE.items()):
            troubles[what] = enqueue()
            neighbours += [jobs.echo.enqueue(number), jobs.echo_async.enqueue(number)]
        burst(process_app, process_slots=2)
        yield {what: job.read() for what, job in troubles.items()}, [job.read() for job in neighbours]


@pytest.mark.parametrize("what", TROUBLE)
def test_trouble_is_recorded(troubled: tuple[dict[str, Job], list[Job]], what: str) -> None:
    job, (_, state, crashes, expected) = troubled[0][what], TROUBLE[what]
    assert (job.state, job.crashes) == (state, crashes), job
    if state is State.COMPLETED:
        assert expected in (job.result, ...)
        assert job.error is None or crashes
    else:
        kind, message = text_of(job) or ("", "")
        assert (kind, message[: len(expected[1])]) == expected
        assert (job.attempt, job.reason) == (1, "its only attempt was used")


def test_neighbours_of_trouble_all_succeed(troubled: tuple[dict[str, Job], list[Job]]) -> None:
    assert [(job.state, job.attempt, job.crashes, job.result) for job in troubled[1]] == [
        (State.COMPLETED, 1, 0, number // 2) for number in range(2 * len(TROUBLE))
    ]


# Results


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("object", "the result of odd_result is not JSON: builtins.object"),
        ("large", "the result of odd_result is 1,048,578 bytes; the limit is 1,048,576"),
        ("surrogate", "the result of odd_result holds a lone surrogate"),
    ],
)
def test_a_result_that_cannot_be_stored_is_not_tried_again(process_app: App, kind: str, message: str) -> None:
    job = jobs.odd_result.enqueue(kind)
    burst(process_app, process_slots=1)
    read = job.read()
    assert (read.state, read.attempt, read.reason) == (State.DEAD, 1, "the payload or result does not fit")
    assert read.error is not None
    assert read.error.message.startswith(message)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, new_event_loop], ids=["asyncio", "the command line's"])
def test_both_loops_run_processes(process_app: App, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    good, large = jobs.echo.enqueue(1), jobs.echo.enqueue("x" * 900_000)
    dead, late = jobs.exit_hard.enqueue(1), jobs.stubborn.enqueue("busy")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(process_app.run_worker(burst=True, process_slots=2), PATIENCE_SECONDS))
    assert (good.result(0), len(large.result(0))) == (1, 900_000)
    assert (dead.read().crashes, late.read().crashes) == (1, 0)
    assert [text_of(job.read()) for job in (dead, late)] == [
        (DIED, "the process of this job ended: exit code 1"),
        ("TimeoutError", "the attempt took longer than its timeout of 300ms"),
    ]


def test_a_handler_knows_its_deadline(process_app: App) -> None:
    job = jobs.deadline_of.enqueue()
    burst(process_app, process_slots=1)
    left = job.result(0)
    assert left is not None
    assert 0 < left <= 60


# Stopping


@pytest.mark.parametrize("kind", ["busy", "stopped", "masked", "ignoring"])
def test_whatever_takes_too_long_is_killed(process_app: App, diary: Path, kind: str) -> None:
    job = jobs.stubborn.using(attempts=2, backoff=Fixed(0)).enqueue(kind)
    after = jobs.echo.using(priority=-1).enqueue("after")
    burst(process_app, process_slots=1)
    read = job.read()
    assert (read.state, read.attempt, read.crashes) == (State.DEAD, 2, 0)
    assert text_of(read) == ("TimeoutError", "the attempt took longer than its timeout of 300ms")
    assert after.result(0) == "after"
    pids = [int(pid) for (pid,) in entries(diary, "stubborn")]
    assert len(set(pids)) == 2
    assert not any(map(alive, pids))


def test_cancel_kills_the_process_and_what_it_started(process_app: App, diary: Path) -> None:
    async def story() -> None:
        job = await jobs.never_end.aenqueue()
        await until(lambda: entries(diary, "runs"), "it runs")
        await job.acancel()
        await until(lambda: not any(map(alive, pids())), "both are gone")
        await until_state(job, State.CANCELLED)

    def pids() -> list[int]:
        return [int(pid) for pid in entries(diary, "runs")[0]]

    beside_worker(process_app, story, process_slots=1)


def test_a_stop_gives_back_what_does_not_finish_in_time(process_app: App, diary: Path) -> None:
    job = jobs.never_end.enqueue()
    waiting = jobs.echo.using(priority=-1).enqueue(1)

    async def story() -> None:
        await until(lambda: entries(diary, "runs"), "it runs")

    beside_worker(process_app, story, process_slots=1, shutdown_timeout="10ms")
    read = job.read()
    assert (read.state, read.attempt, read.crashes) == (State.PENDING, 0, 0)
    assert (waiting.state(), waiting.read().attempt) == (State.PENDING, 0)
    pids = [int(pid) for pid in entries(diary, "runs")[0]]
    assert not any(map(alive, pids))


def test_a_process_that_has_completed_its_job_itself_may_go_on(
    process_app: App, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its token is gone, since it has ended the attempt, and not because somebody has taken it away."""
    job = jobs.pay_and_go_on.enqueue(f"sqlite:///{tmp_path}/jobs.db", str(tmp_path / "go on"))

    async def story() -> None:
        await until_state(job, State.COMPLETED)
        for _ in range(3):  # Each is a hint, at which the worker asks what is still its own.
            await until_state(await jobs.echo.aenqueue(1), State.COMPLETED)
        (tmp_path / "go on").touch()
        await until(lambda: "job.completed" in told(), "it has ended")

    def told() -> list[str]:
        return [getattr(record, "event", "") for record in caplog.records if record.name.endswith("pay_and_go_on")]

    with caplog.at_level(logging.INFO, "penstock.job"):
        beside_worker(process_app, story, process_slots=2)
    assert told() == ["job.started", "job.completed"]
    assert job.result(timeout=0) == {"paid": 7}


def test_a_stop_lets_a_process_finish(
    process_app: App, diary: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    gate = tmp_path / "gate"

    async def story() -> None:
        job = await jobs.wait_for.aenqueue(str(gate))
        await until(lambda: entries(diary, "waits"), "it runs")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: "stopping: finishing what runs" in caplog.text, "the worker stops")
        gate.touch()
        assert (await job.aresult(PATIENCE_SECONDS))[0] == 1

    beside_worker(process_app, story, process_slots=1)


def test_signals_are_for_the_worker(process_app: App, diary: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def story() -> None:
        job = await jobs.wait_for.aenqueue(str(gate))
        await until(lambda: entries(diary, "waits"), "it runs")
        pid = int(entries(diary, "waits")[0][0])
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGTERM)
        gate.touch()
        assert await job.aresult(PATIENCE_SECONDS) == [1, pid]

    beside_worker(process_app, story, process_slots=1)


def test_a_crash_harms_no_other_process(process_app: App, diary: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def story() -> None:
        beside = await jobs.wait_for.aenqueue(str(gate))
        await until(lambda: entries(diary, "waits"), "it runs")
        dead = await jobs.exit_hard.aenqueue(1)
        await until_state(dead, State.DEAD)
        gate.touch()
        assert await beside.aresult(PATIENCE_SECONDS) == [1, int(entries(diary, "waits")[0][0])]

    beside_worker(process_app, story, process_slots=2)


def test_a_process_that_holds_the_socket_does_not_hide_a_death(process_app: App, diary: Path) -> None:
    job, after = jobs.die_beside_a_holder.enqueue(), jobs.echo.using(priority=-1).enqueue(1)
    try:
        burst(process_app, process_slots=1)
        assert (job.read().crashes, after.result(0)) == (1, 1)
    finally:
        for (pid,) in entries(diary, "holder"):
            os.kill(int(pid), signal.SIGKILL)


def test_an_idle_child_that_dies_is_replaced(process_app: App, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        first = await pid()
        os.kill(first, signal.SIGKILL)
        await until(
            lambda: "an idle child process ended, and is replaced: killed by SIGKILL" in caplog.text, "it is noticed"
        )
        second = await pid()
        assert second != first

    async def pid() -> int:
        job = await jobs.pid_of.aenqueue()
        return (await job.aresult(PATIENCE_SECONDS))[0]

    beside_worker(process_app, story, process_slots=1)


# Speaking while it runs


def test_a_flood_of_progress_ends_with_the_last(process_app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    hear = process.ChildProcess.data_received

    def listen(child: process.ChildProcess, data: bytes) -> None:
        heard.append(len(data))
        hear(child, data)

    monkeypatch.setattr(process.ChildProcess, "data_received", listen)
    job = jobs.flood.enqueue(20_000)
    burst(process_app, process_slots=1)
    progress = job.read().progress
    assert progress is not None
    assert (progress.percent, progress.phase) == (100.0, "last")
    assert sum(heard) < 20_000, "not even a byte for each"


def test_progress_that_follows_closely_is_not_held_back_for_long(process_app: App, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def story() -> None:
        job = await jobs.two_reports.aenqueue(str(gate))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (progress := (await job.aread()).progress) is None or progress.phase != "second":
                await asyncio.sleep(0.01)
        gate.touch()

    beside_worker(process_app, story, process_slots=1)


def test_late_words_of_a_job_are_not_taken_for_the_next_one(process_app: App, diary: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    late = jobs.report_after_the_end.enqueue()

    async def story() -> None:
        await until_state(late, State.COMPLETED)
        job = await jobs.wait_for.aenqueue(str(gate))
        await until(lambda: entries(diary, "waits"), "it runs")
        echo = await jobs.echo.aenqueue(1)  # Waits behind the other in the only child.
        gate.touch()
        assert await echo.aresult(PATIENCE_SECONDS) == 1
        assert (await job.aread()).progress is None
        assert (await echo.aread()).progress is None

    beside_worker(process_app, story, process_slots=1)


def test_a_forked_process_does_not_speak_for_the_job(process_app: App) -> None:
    job = jobs.report_from_a_fork.enqueue()
    burst(process_app, process_slots=1)
    progress = job.read().progress
    assert progress is not None
    assert progress.phase == "the child"


def test_follow_ups_are_stored_with_the_completion(process_app: App) -> None:
    good, bad = jobs.follow_up.enqueue(False), jobs.follow_up.enqueue(True)
    burst(process_app, process_slots=1)
    assert (good.state(), bad.state()) == (State.COMPLETED, State.DEAD)
    found = process_app.store.list_jobs(ListJobs(type="echo")).wait()
    assert {job.parent for job in found} == {good.id}
    now, later = sorted(found, key=lambda job: job.priority)
    assert (now.state, now.result) == (State.COMPLETED, "now")
    assert later.tenant is not None
    assert (later.state, later.priority, later.tenant.org, later.tags) == (State.SCHEDULED, 7, "acme", ("a", "b"))


# Batches


def test_a_batch_has_an_outcome_for_each_item(process_app: App) -> None:
    handles = process_app.enqueue_many(jobs.halve.bind(item) for item in range(8))
    burst(process_app, process_slots=2)
    for item, job in enumerate(handles):
        if item % 2:
            assert text_of(job.read()) == ("Exception", f"{item} is odd")
        else:
            assert job.result(0) == item / 2


def test_a_crash_in_a_batch_is_counted_for_all_and_taken_alone_the_next_time(process_app: App) -> None:
    good, other, bad = process_app.enqueue_many(jobs.gather.bind(item) for item in ("good", "other", "die"))
    burst(process_app, process_slots=1)
    assert [(job.read().state, job.read().attempt, job.read().crashes, job.read().result) for job in (good, other)] == [
        (State.COMPLETED, 2, 1, 1),
        (State.COMPLETED, 2, 1, 1),
    ]
    assert (bad.read().state, bad.read().attempt, bad.read().crashes) == (State.DEAD, 2, 2)


def test_cancelling_one_of_a_batch_lets_the_others_finish(
    process_app: App, diary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    heeded: list[StopReason] = []
    stop = Executors.stop

    def heed(crew: Executors, token: int, why: StopReason) -> None:
        stop(crew, token, why)
        heeded.append(why)

    monkeypatch.setattr(Executors, "stop", heed)

    async def story() -> None:
        items = (str(gate), "second", "third")
        first, second, third = await process_app.aenqueue_many(jobs.gather.bind(item) for item in items)
        await until(lambda: entries(diary, "gathered"), "the call has begun")
        await second.acancel()
        await until(lambda: heeded == [StopReason.CANCELLED], "the worker knows")
        gate.touch()
        assert [await job.aresult(PATIENCE_SECONDS) for job in (first, third)] == [3, 3]
        await until_state(second, State.CANCELLED)

    beside_worker(process_app, story, process_slots=1)
    assert len(entries(diary, "gathered")) == 1


def test_cancelling_all_of_a_batch_kills_its_process(process_app: App, diary: Path, tmp_path: Path) -> None:
    async def story() -> None:
        items = (str(tmp_path / "never"), "second", "third")
        handles = await process_app.aenqueue_many(jobs.gather.bind(item) for item in items)
        await until(lambda: entries(diary, "gathered"), "the call has begun")
        for job in handles:
            await job.acancel()
        for job in handles:
            await until_state(job, State.CANCELLED)
        await until(lambda: not alive(int(entries(diary, "gathered")[0][0])), "it is killed")

    beside_worker(process_app, story, process_slots=1)


# Hooks


@pytest.mark.parametrize("how", ["return", "raise", "die"])
def test_hooks_are_called_in_the_worker(process_app: App, diary: Path, how: str) -> None:
    heard = jobs.hooks.heard
    heard.clear()
    job = jobs.hooked.enqueue(jobs.Order(how))
    burst(process_app, process_slots=1)
    assert heard[0] == ("start", os.getpid())
    event, last = heard[-1]
    if how == "return":
        assert event, last == ("complete", job.result(0))
        assert last != f"done in {os.getpid()}"
        assert heard[1:-1] == [("progress", 50.0)]
        return
    assert event == "failed"
    assert job.read().reason == "the handler said that it is not retryable"
    judged = [(int(pid) == os.getpid(), kind) for pid, kind in entries(diary, "is_retryable")]
    if how == "raise":
        assert isinstance(last, HandlerError)
        assert str(last) == "ValueError: it raised"
        assert judged == [(False, "ValueError")]
    else:
        assert isinstance(last, ProcessDied)
        assert judged == [(True, "ProcessDied")]
