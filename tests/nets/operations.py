"""What can be done to a store, each as one call on what is on the stage."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from penstock.domain.errors import AlreadyRetried, NotLeader, UnknownJob, UnknownWorkflow, UsageError, WorkerRefused
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event
from penstock.domain.options import NO_RESOURCES
from penstock.store import contract as p
from tests.contract.flows import Flow
from tests.contract.world import STALE_AFTER, World
from tests.nets import seeing as seeing
from tests.nets.promises import cancelled, ended, held, lost, not_of_another, stored, stored_anew
from tests.nets.registry import OPERATIONS as OPERATIONS, Operation as Operation, forget, operation
from tests.nets.seen import COMPLETED, DEAD
from tests.nets.stage import (
    AT_ONCE,
    EFFECT,
    ENDED_UNIQUE,
    FREE,
    IN_ORDER,
    LATE_IN_LINE,
    LATE_UNIQUE,
    LEASE,
    PAUSED,
    SHARED,
    UNIQUE,
    Stage,
)

NEVER_STORED = 1_000_000


# Claims


def look(world: World, stage: Stage) -> None:
    """So that it knows where lanes go on."""
    world.claim(stage.two, 0)


@operation("claim", WorkerRefused, knows_nothing=True, promise=held, never_waits=True)
def claim(world: World, stage: Stage) -> list[p.Claim]:
    return world.claim(stage.two)


@operation("claim, knowing the lanes", WorkerRefused, prepare=look, promise=held, never_waits=True)
def claim_again(world: World, stage: Stage) -> list[p.Claim]:
    return world.claim(stage.two)


@operation("claim one", WorkerRefused, prepare=look, promise=held, never_waits=True)
def claim_one(world: World, stage: Stage) -> list[p.Claim]:
    return world.claim(stage.two, 1)


@operation("claim in turns", WorkerRefused, prepare=look, promise=held, never_waits=True)
def claim_in_turns(world: World, stage: Stage) -> list[p.Claim]:
    """Of one tenant's two jobs the second makes room for another tenant's."""
    return world.claim(stage.two, 2, queues=(SHARED,))


@operation("claim of a stale worker", WorkerRefused, prepare=look, never_waits=True)
def claim_late(world: World, stage: Stage) -> list[p.Claim]:
    return world.claim(stage.one, 2)


# Attempts


@operation("start", promise=lost, never_waits=True)
def start(world: World, stage: Stage) -> list[int]:
    return world.start(*stage.leased.values())


@operation("start one", promise=lost, never_waits=True)
def start_one(world: World, stage: Stage) -> list[int]:
    return world.start(stage.leased["held"])


@operation("progress", promise=lost, never_waits=True)
def progress(world: World, stage: Stage) -> list[int]:
    return world.progress(stage.leased["running"], "1")


@operation("signals", never_waits=True)
def signals(world: World, stage: Stage) -> p.Signals:
    tokens = [one.token for one in stage.leased.values()]
    return world.store.read_signals(p.ReadSignals(stage.one, tokens)).wait()


@operation("ended attempts", never_waits=True)
def ended_attempts(world: World, stage: Stage) -> list[Event | None]:
    attempts = [(one.id, one.attempt) for one in stage.leased.values()]
    return world.store.ended_attempts(p.EndedAttempts(stage.one, attempts)).wait()


@operation("complete", promise=ended(COMPLETED, "running", "held", "spent", "cancelled"))
def complete(world: World, stage: Stage) -> list[int]:
    return world.complete(*(stage.leased[name] for name in ("running", "held", "spent", "cancelled")))


@operation("complete behind gates", promise=ended(COMPLETED, "gated", "ordered", "slow", "long"))
def complete_gated(world: World, stage: Stage) -> list[int]:
    return world.complete(*(stage.leased[name] for name in ("gated", "ordered", "slow", "long")))


@operation("complete and remove", removes_leased=True, promise=ended(COMPLETED, "running", "held", "cancelled"))
def complete_removed(world: World, stage: Stage) -> list[int]:
    return world.complete(*(stage.leased[name] for name in ("running", "held", "cancelled")), keep=False)


@operation("complete with a follow-up", promise=ended(COMPLETED, "running"))
def complete_followed(world: World, stage: Stage) -> list[int]:
    done = stage.leased["running"]
    finish = p.FinishJobs([p.Completed(done.token, 1)], follow_ups=[(done.token, world.new_job(parent=done.id))])
    return world.store.finish_jobs(finish).wait().lost


@operation("complete in a transaction", is_long=True, promise=ended(COMPLETED, "running", "held", "gated", "member"))
def complete_in(world: World, stage: Stage) -> list[int]:
    with world.store.transaction() as tx:
        done = [p.Completed(stage.leased[name].token, 1) for name in ("running", "held", "gated", "member")]
        return world.store.finish_jobs(p.FinishJobs(done, transaction=tx)).wait().lost


def ending(world: World, stage: Stage, event: Event, **fields: Any) -> list[int]:
    names = ("running", "held", "gated", "ordered", "slow")
    ends = [p.Unfinished(token=stage.leased[name].token, event=event, **fields) for name in names]
    return world.store.finish_jobs(p.FinishJobs(unfinished=ends)).wait().lost


@operation("fail", promise=ended(DEAD, "running", "held", "gated", "ordered", "slow"))
def fail(world: World, stage: Stage) -> list[int]:
    return ending(world, stage, Event.FAIL)


@operation("back off", promise=ended(None, "running", "held", "gated", "ordered", "slow"))
def back_off(world: World, stage: Stage) -> list[int]:
    return ending(world, stage, Event.BACK_OFF, elsewhere=True)


@operation("release", promise=ended(None, "running", "held", "gated", "ordered", "slow"))
def release(world: World, stage: Stage) -> list[int]:
    return ending(world, stage, Event.RELEASE)


@operation("snooze", promise=ended(None, "running", "held", "gated", "ordered", "slow"))
def snooze(world: World, stage: Stage) -> list[int]:
    return ending(world, stage, Event.SNOOZE, started_at=1)


@operation("once")
def once(world: World, stage: Stage) -> p.Once:
    return world.store.begin_once(p.BeginOnce(stage.leased["running"].token, "key")).wait()


@operation("end effects", promise=not_of_another)
def end_effects(world: World, stage: Stage) -> dict[str, bool]:
    """One that this attempt has begun, and one that an earlier attempt has."""
    names = ("running", "again")
    return {name: world.store.end_once(p.EndOnce(stage.leased[name].token, EFFECT, "1")).wait() for name in names}


# Duties


@operation("recover", NotLeader)
def recover(world: World, stage: Stage) -> p.Recovered:
    return world.store.recover_jobs(p.RecoverJobs(STALE_AFTER, term=stage.term)).wait()


@operation("give back", NotLeader)
def give_back(world: World, stage: Stage) -> p.GivenBack:
    return world.store.give_back_jobs(p.GiveBackJobs(STALE_AFTER, term=stage.term)).wait()


@operation("expire", NotLeader)
def expire(world: World, stage: Stage) -> None:
    world.store.expire_jobs(p.ExpireJobs(stage.term)).wait()


@operation("age", NotLeader)
def age(world: World, stage: Stage) -> int:
    return world.store.age_jobs(p.AgeJobs(60.0, stage.term)).wait().jobs


@operation("fail unroutable", NotLeader)
def unroutable(world: World, stage: Stage) -> list[str]:
    asked = p.FailUnroutable(
        type="task", queue="default", capability="general", resources=NO_RESOURCES, reason="nobody", term=stage.term
    )
    return world.store.fail_unroutable(asked).wait().ids


@operation("tend gates", NotLeader)
def tend(world: World, stage: Stage) -> None:
    world.store.tend_gates(p.TendGates(stage.term)).wait()


@operation("prune", NotLeader, removes=True)
def prune(world: World, stage: Stage) -> int:
    return world.prune(completed_after=1.0, cancelled_after=1.0, dead_after=1.0, term=stage.term)


@operation("settle workflows", NotLeader)
def settle(world: World, stage: Stage) -> int:
    return world.store.settle_workflows(p.SettleWorkflows(stage.term)).wait().jobs


@operation("take the lead")
def lead(world: World, stage: Stage) -> p.Leadership:
    return world.store.lead_store(p.LeadStore(stage.one, LEASE)).wait()


@operation("resign")
def resign(world: World, stage: Stage) -> p.Leadership:
    return world.store.lead_store(p.LeadStore(stage.two, None)).wait()


# Workers


@operation("heartbeat", never_waits=True, prepare=forget)
def heartbeat(world: World, stage: Stage) -> bool:
    return world.heartbeat(stage.one)


@operation("leave", prepare=forget)
def leave(world: World, stage: Stage) -> bool:
    return world.heartbeat(stage.one, "inactive")


@operation("mark a worker", NotLeader)
def mark(world: World, stage: Stage) -> None:
    world.store.mark_workers(p.MarkWorkers(failing=(stage.two,), term=stage.term)).wait()


def remember(world: World, stage: Stage) -> None:
    """It has heard of a worker that was never stored, as after a restore."""
    forget(world, stage)
    world.store._beats[NEVER_STORED] = 1  # type: ignore[attr-defined]


@operation("register in its place", WorkerRefused, prepare=remember)
def register(world: World, stage: Stage) -> int:
    return world.register("one")


# People


@operation("cancel what waits", UnknownJob, promise=cancelled(lambda stage: stage.waiting["plain"]))
def cancel_waiting(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["plain"])


@operation("cancel what is overdue", UnknownJob, promise=cancelled(lambda stage: stage.waiting["overdue"]))
def cancel_overdue(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["overdue"])


@operation("cancel what runs", UnknownJob, promise=cancelled(lambda stage: stage.leased["running"].id))
def cancel_running(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.leased["running"].id)


@operation("cancel what holds a gate", UnknownJob, promise=cancelled(lambda stage: stage.leased["gated"].id))
def cancel_gated(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.leased["gated"].id)


@operation("cancel what is parked", UnknownJob, promise=cancelled(lambda stage: stage.waiting["gated parked"]))
def cancel_parked(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["gated parked"])


@operation("cancel what may pass", UnknownJob, promise=cancelled(lambda stage: stage.waiting["slow parked"]))
def cancel_next(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["slow parked"])


@operation("cancel what makes room", UnknownJob, promise=cancelled(lambda stage: stage.waiting["makes room"]))
def cancel_making_room(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["makes room"])


@operation("cancel what stands in line", UnknownJob, promise=cancelled(lambda stage: stage.waiting["ordered parked"]))
def cancel_in_line(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.waiting["ordered parked"])


@operation("pause the queue")
def pause(world: World, stage: Stage) -> list[p.Switched]:
    return world.pause("queue", "default")


@operation("resume a type")
def resume(world: World, stage: Stage) -> list[p.Switched]:
    return world.resume("type", PAUSED)


@operation("drain")
def drain(world: World, stage: Stage) -> bool:
    return world.store.drain_worker(p.DrainWorker("two")).wait()


@operation("retry the dead", UnknownJob, AlreadyRetried)
def retry_dead(world: World, stage: Stage) -> list[tuple[str, str]]:
    ids = (stage.ended["dead"], stage.ended["dead too"])
    filter = p.DeadFilter(ids=ids)
    return world.store.retry_dead(p.RetryDead(filter=filter, new_ids=[world.new_id(), world.new_id()])).wait().pairs


@operation("purge the dead", removes=True, purges=True)
def purge(world: World, stage: Stage) -> int:
    return world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter())).wait().jobs


# Enqueues


@operation("enqueue", never_waits=True)
def enqueue(world: World, stage: Stage) -> list[str]:
    return world.add_many(2)


@operation("enqueue in a new lane", never_waits=True)
def enqueue_lane(world: World, stage: Stage) -> str:
    return world.add(queue=f"new {world.new_id()}")


@operation("enqueue the only one", promise=stored)
def enqueue_unique(world: World, stage: Stage) -> list[p.Enqueued]:
    return world.enqueue(world.new_job(unique=ENDED_UNIQUE), world.new_job(unique=UNIQUE))


@operation("enqueue in place of what is overdue", promise=stored_anew("overdue", "ordered overdue"))
def enqueue_in_place(world: World, stage: Stage) -> list[p.Enqueued]:
    return world.enqueue(world.new_job(unique=LATE_UNIQUE), world.new_job(unique=LATE_IN_LINE))


@operation("enqueue a whole", promise=stored)
def enqueue_whole(world: World, stage: Stage) -> list[p.Enqueued]:
    jobs = [world.new_job(), world.new_job(unique=ENDED_UNIQUE)]
    asked = p.EnqueueJobs(jobs, whole=p.WholeKey("whole", 60.0))
    return [new for new in world.store.enqueue_jobs(asked).wait() if new.created]


@operation("enqueue before gates", promise=stored)
def enqueue_gated(world: World, stage: Stage) -> list[p.Enqueued]:
    new = Gate("key:new", 1, None, "key:new")
    return world.enqueue(*(with_gates(world, gate) for gate in (AT_ONCE, IN_ORDER, new, FREE, FREE)))


def with_gates(world: World, *gates: Gate) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(), gates=gates)


@operation("enqueue in a transaction", is_long=True, promise=stored)
def enqueue_in(world: World, stage: Stage) -> list[p.Enqueued]:
    with world.store.transaction() as tx:
        jobs = [world.new_job(), world.new_job(unique=ENDED_UNIQUE), with_gates(world, AT_ONCE, IN_ORDER)]
        return world.store.enqueue_jobs(p.EnqueueJobs(jobs, transaction=tx)).wait()


@operation("enqueue again what was undone", promise=stored)
def enqueue_again(world: World, stage: Stage) -> list[p.Enqueued]:
    """Whatever was learnt in the transaction that was undone is not so."""
    job = world.new_job(queue=f"new {world.new_id()}")
    with suppress(ZeroDivisionError), world.store.transaction() as tx:
        world.store.enqueue_jobs(p.EnqueueJobs([job], transaction=tx)).wait()
        raise ZeroDivisionError
    return world.enqueue(job)


# Workflows and schedules


@operation("enqueue a workflow")
def enqueue_workflow(world: World, stage: Stage) -> None:
    Flow(world, ("a", 1), ("b", 1, ("a",))).enqueue()


@operation("complete a member", promise=ended(COMPLETED, "member"))
def complete_member(world: World, stage: Stage) -> list[int]:
    done = stage.leased["member"]
    return world.store.finish_jobs(p.FinishJobs([p.Completed(done.token, 1, "1", member=done.id)])).wait().lost


@operation("fail a member", promise=ended(DEAD, "sibling"))
def fail_member(world: World, stage: Stage) -> list[int]:
    done = stage.leased["sibling"]
    return world.end(done, Event.FAIL, member=done.id)


@operation("cancel a member", UnknownJob, promise=cancelled(lambda stage: stage.leased["member"].id))
def cancel_member(world: World, stage: Stage) -> p.Cancelled:
    return world.cancel(stage.leased["member"].id)


@operation("cancel a workflow", UnknownWorkflow)
def cancel_workflow(world: World, stage: Stage) -> p.WorkflowCancelled:
    return world.store.cancel_workflow(p.CancelWorkflow(id=stage.flows["flow"].id)).wait()


@operation("retry a workflow", UnknownWorkflow, UsageError)
def retry_workflow(world: World, stage: Stage) -> int:
    ids = [world.new_id() for _ in range(4)]
    return world.store.retry_workflow(p.RetryWorkflow(id=stage.flows["failed"].id, new_ids=ids)).wait().jobs


@operation("fire a schedule", NotLeader)
def fire(world: World, stage: Stage) -> dict[str, str | None]:
    row = stage.schedule
    assert row is not None
    taken = msgspec.structs.replace(row, next_at=(row.next_at or 0) + 10**9, fires=row.fires + 1)
    change = p.ScheduleChange(row.name, taken, row.revision, (world.new_job(tags=("schedule:nightly",)),))
    return world.store.change_schedules(p.ChangeSchedules([change], term=stage.term)).wait().last


@operation("edit a schedule")
def edit(world: World, stage: Stage) -> dict[str, str | None]:
    row = stage.schedule
    assert row is not None
    changed = msgspec.structs.replace(row, status="paused")
    change = p.ScheduleChange(row.name, changed, row.revision)
    return world.store.change_schedules(p.ChangeSchedules([change], actor="person")).wait().last
