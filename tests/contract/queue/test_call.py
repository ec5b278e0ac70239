"""A Call has two faces, wait() and await, and both do the same for every method, errors included."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.domain.errors import PenstockError, UnknownJob, WorkerRefused
from penstock.domain.job import Job
from penstock.domain.options import NO_RESOURCES
from penstock.domain.workflows import WorkflowInfo, workflow_id
from penstock.store import contract as p
from penstock.store.call import Call
from penstock.store.contract import SqlStore
from tests.contract.conftest import CarryOut, OpenAgain, awaited, waited
from tests.contract.world import STALE_AFTER, World


def new_workflow(world: World) -> p.NewWorkflow:
    id_ = workflow_id(world.new_id())
    return p.NewWorkflow(id=id_, name="flow", steps=(p.NewStep("only", (world.new_job(parent=id_),)),))


def stored_workflow(world: World) -> str:
    new = new_workflow(world)
    world.store.enqueue_workflow(p.EnqueueWorkflow(new)).wait()
    return new.id


def again(world: World, workflow: str) -> p.RetryWorkflow:
    """Of one that was cancelled."""
    world.store.cancel_workflow(p.CancelWorkflow(id=workflow)).wait()
    return p.RetryWorkflow(id=workflow, new_ids=[world.new_id(), world.new_id()])


METHODS: dict[str, tuple[type | tuple[type, ...], Callable[[SqlStore, World, int], Call[Any]]]] = {
    "enqueue_jobs": (list, lambda s, w, _: s.enqueue_jobs(p.EnqueueJobs([w.new_job()]))),
    "claim_jobs": (p.Claimed, lambda s, w, session: s.claim_jobs(p.ClaimJobs(session, 5))),
    "start_jobs": (list, lambda s, w, _: s.start_jobs(p.StartJobs([]))),
    "finish_jobs": (p.Finished, lambda s, w, _: s.finish_jobs(p.FinishJobs())),
    "ended_attempts": (
        list,
        lambda s, w, session: s.ended_attempts(p.EndedAttempts(session, [(w.list_ids()[0], 1)])),
    ),
    "save_progress": (list, lambda s, w, _: s.save_progress(p.SaveProgress([]))),
    "register_worker": (
        p.Registered,
        lambda s, w, _: s.register_worker(
            p.RegisterWorker(worker_id="new", host="h", pid=1, version="1", slots=1, stale_after=STALE_AFTER)
        ),
    ),
    "heartbeat_worker": (p.Heartbeat, lambda s, w, session: s.heartbeat_worker(p.HeartbeatWorker(session))),
    "read_signals": (p.Signals, lambda s, w, session: s.read_signals(p.ReadSignals(session, []))),
    "lead_store": (p.Leadership, lambda s, w, session: s.lead_store(p.LeadStore(session, 10.0))),
    "give_back_jobs": (p.GivenBack, lambda s, w, _: s.give_back_jobs(p.GiveBackJobs(300.0))),
    "age_jobs": (p.Changed, lambda s, w, _: s.age_jobs(p.AgeJobs(60.0))),
    "expire_jobs": (p.Expired, lambda s, w, _: s.expire_jobs(p.ExpireJobs())),
    "fail_unroutable": (
        p.Unroutable,
        lambda s, w, _: s.fail_unroutable(
            p.FailUnroutable(type="t", queue="q", capability="c", resources=NO_RESOURCES, reason="none")
        ),
    ),
    "mark_workers": (type(None), lambda s, w, session: s.mark_workers(p.MarkWorkers([session]))),
    "tend_gates": (type(None), lambda s, w, _: s.tend_gates(p.TendGates())),
    "begin_once": (p.Once, lambda s, w, _: s.begin_once(p.BeginOnce(1, "key"))),
    "end_once": (bool, lambda s, w, _: s.end_once(p.EndOnce(1, "key"))),
    "recover_jobs": (p.Recovered, lambda s, w, _: s.recover_jobs(p.RecoverJobs(STALE_AFTER))),
    "list_workers": (list, lambda s, w, _: s.list_workers()),
    "read_types": (dict, lambda s, w, _: s.read_types()),
    "read_limits": (list, lambda s, w, _: s.read_limits()),
    "read_job": (Job, lambda s, w, _: s.read_job(w.list_ids()[0])),
    "list_jobs": (list, lambda s, w, _: s.list_jobs(p.ListJobs())),
    "count_jobs": (list, lambda s, w, _: s.count_jobs()),
    "count_dead": (int, lambda s, w, _: s.count_dead(p.CountDead())),
    "fold_figures": (int, lambda s, w, _: s.fold_figures(p.FoldFigures())),
    "read_figures": (p.FigurePage, lambda s, w, _: s.read_figures(p.ReadFigures(span=60, since=0))),
    "count_gauges": (p.CountedGauges, lambda s, w, _: s.count_gauges()),
    "count_ended": (p.Ended, lambda s, w, _: s.count_ended()),
    "store_sample": (type(None), lambda s, w, _: s.store_sample(p.StoreSample(1, 0.1, ()))),
    "read_sample": ((p.Sample, type(None)), lambda s, w, _: s.read_sample()),
    "read_capacity": (list, lambda s, w, _: s.read_capacity()),
    "read_alerts": (p.AlertPage, lambda s, w, _: s.read_alerts()),
    "change_alerts": (list, lambda s, w, _: s.change_alerts(p.ChangeAlerts(()))),
    "silence_alerts": (p.Silence, lambda s, w, _: s.silence_alerts(p.SilenceAlerts(rule="r", seconds=1.0))),
    "read_signs": (p.Signs, lambda s, w, _: s.read_signs(p.ReadSigns(dead_since=0, unstarted_seconds=1.0))),
    "read_room": ((p.Room, type(None)), lambda s, w, _: s.read_room()),
    "count_queues": (int, lambda s, w, _: s.count_queues()),
    "count_waiting": (list, lambda s, w, _: s.count_waiting(p.CountWaiting())),
    "read_history": (list, lambda s, w, _: s.read_history(w.list_ids()[0])),
    "cancel_job": (p.Cancelled, lambda s, w, _: s.cancel_job(p.CancelJob(w.list_ids()[0]))),
    "pause_work": (list, lambda s, w, _: s.pause_work(p.PauseWork(kind="queue", names=("default",)))),
    "resume_work": (list, lambda s, w, _: s.resume_work(p.ResumeWork(kind="queue", names=("default",)))),
    "list_pauses": (list, lambda s, w, _: s.list_pauses()),
    "count_open": (list, lambda s, w, _: s.count_open()),
    "drain_worker": (bool, lambda s, w, _: s.drain_worker(p.DrainWorker("worker"))),
    "resize_worker": (int, lambda s, w, _: s.resize_worker(p.ResizeWorker("worker", 3))),
    "list_dead": (p.DeadPage, lambda s, w, _: s.list_dead(p.ListDead())),
    "retry_dead": (p.Retried, lambda s, w, _: s.retry_dead(p.RetryDead(filter=p.DeadFilter(), new_ids=[]))),
    "purge_dead": (p.Changed, lambda s, w, _: s.purge_dead(p.PurgeDead(filter=p.DeadFilter()))),
    "prune_jobs": (p.Changed, lambda s, w, _: s.prune_jobs(p.PruneJobs(completed_after=1.0, cancelled_after=1.0))),
    "enqueue_workflow": (p.WorkflowEnqueued, lambda s, w, _: s.enqueue_workflow(p.EnqueueWorkflow(new_workflow(w)))),
    "read_workflow": (WorkflowInfo, lambda s, w, _: s.read_workflow(stored_workflow(w))),
    "list_workflows": (list, lambda s, w, _: s.list_workflows(p.ListWorkflows())),
    "read_results": (list, lambda s, w, _: s.read_results(p.ReadResults(stored_workflow(w), "only", 1000))),
    "cancel_workflow": (
        p.WorkflowCancelled,
        lambda s, w, _: s.cancel_workflow(p.CancelWorkflow(id=stored_workflow(w))),
    ),
    "retry_workflow": (p.Changed, lambda s, w, _: s.retry_workflow(again(w, stored_workflow(w)))),
    "settle_workflows": (p.Changed, lambda s, w, _: s.settle_workflows(p.SettleWorkflows())),
    "read_schedules": (p.SchedulePage, lambda s, w, _: s.read_schedules(p.ReadSchedules())),
    "due_schedules": (p.SchedulePage, lambda s, w, _: s.due_schedules(p.DueSchedules())),
    "change_schedules": (p.SchedulesChanged, lambda s, w, _: s.change_schedules(p.ChangeSchedules([]))),
    "read_clock": (int, lambda s, w, _: s.read_clock()),
    "check_store": (list, lambda s, w, _: s.check_store(p.CheckStore())),
}
READS = {
    "ended_attempts",
    "read_signals",
    "list_workers",
    "read_types",
    "read_limits",
    "read_job",
    "list_jobs",
    "count_jobs",
    "count_dead",
    "read_figures",
    "count_gauges",
    "count_ended",
    "read_sample",
    "read_capacity",
    "read_alerts",
    "read_signs",
    "count_queues",
    "count_waiting",
    "read_history",
    "list_pauses",
    "count_open",
    "list_dead",
    "read_clock",
}


def test_the_table_above_is_the_whole_contract() -> None:
    plain = {
        "transaction",
        "atransaction",
        "listen",
        "version",
        "info",
        "migration_status",
        "migration_script",
        "migrate",
        "close",
        "address",
    }
    named = {name for role in SqlStore.__mro__ for name in vars(role) if not name.startswith("_")}
    assert named == set(METHODS) | plain


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_both_faces(world: World, session: int, carry_out: CarryOut, name: str) -> None:
    world.add()
    kind, make = METHODS[name]
    assert isinstance(carry_out(make(world.store, world, session)), kind)


@pytest.mark.parametrize("name", sorted(READS))
def test_reads_answer_the_same_through_both_faces(world: World, session: int, name: str) -> None:
    world.add_dead(session)
    _, make = METHODS[name]
    assert waited(make(world.store, world, session)) == awaited(make(world.store, world, session))


def test_nothing_happens_until_a_face_is_used(world: World) -> None:
    _ = world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()]))
    assert world.list_ids() == []


def test_errors_come_through_both_faces(world: World, carry_out: CarryOut) -> None:
    unknown = world.new_id()
    with pytest.raises(UnknownJob, match=unknown):
        carry_out(world.store.cancel_job(p.CancelJob(unknown)))
    with pytest.raises(WorkerRefused):
        carry_out(world.store.claim_jobs(p.ClaimJobs(77, 1)))
    with pytest.raises((PenstockError, OverflowError)):
        carry_out(world.store.enqueue_jobs(p.EnqueueJobs([world.new_job(priority=2**80)])))


def test_many_awaits_in_one_loop(world: World) -> None:
    jobs = [world.new_job() for _ in range(200)]

    async def main() -> list[list[p.Enqueued]]:
        return await asyncio.gather(*(world.store.enqueue_jobs(p.EnqueueJobs([job])) for job in jobs))

    assert asyncio.run(main()) == [[p.Enqueued(job.id, True)] for job in jobs]
    assert len(world.list_ids()) == 200


def test_an_error_among_many_awaits_is_its_callers_alone(world: World) -> None:
    unknown = world.new_id()

    async def main() -> list[Any]:
        enqueues = [world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()])) for _ in range(20)]
        cancels = [world.store.cancel_job(p.CancelJob(unknown)) for _ in range(3)]
        return await asyncio.gather(*enqueues, *cancels, return_exceptions=True)

    answers = asyncio.run(main())
    errors = answers[20:]
    assert all(answer[0].created for answer in answers[:20])
    assert all(isinstance(error, UnknownJob) for error in errors)
    assert len({id(error) for error in errors}) == 3


def test_loops_and_threads_at_once(world: World) -> None:
    start = threading.Barrier(6)
    problems: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                start.wait(10)
                work()
            except BaseException as problem:
                problems.append(problem)

        return run

    def in_a_loop() -> None:
        async def main() -> None:
            for _ in range(5):
                calls = [world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()])) for _ in range(10)]
                await asyncio.gather(*calls, world.store.count_jobs(), world.store.list_jobs(p.ListJobs()))

        asyncio.run(main())

    def plainly() -> None:
        for _ in range(50):
            world.add()
            world.store.count_jobs().wait()

    threads = [threading.Thread(target=guarded(work)) for work in (in_a_loop, plainly) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(world.list_ids()) == 300


def test_a_caller_that_gives_up_harms_nobody(world: World) -> None:
    async def main() -> None:
        async def enqueue() -> None:
            await world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()]))

        task = asyncio.create_task(enqueue())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()]))

    asyncio.run(main())
    assert len(world.list_ids()) in (1, 2)


def test_an_answer_to_a_loop_that_is_gone_is_dropped(world: World) -> None:
    for _ in range(20):
        loop = asyncio.new_event_loop()

        async def enqueue() -> None:
            await world.store.enqueue_jobs(p.EnqueueJobs([world.new_job()]))

        task = loop.create_task(enqueue())
        loop.call_soon(loop.stop)
        loop.run_forever()
        task.cancel()
        loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        loop.close()
    assert world.enqueue(world.new_job())[0].created


def test_two_handles_see_each_other(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    first, second = world.add(), other.add()
    assert set(world.list_ids()) == set(other.list_ids()) == {first, second}
