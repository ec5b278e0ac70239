"""Workflows as a whole: ends that nobody reports, cancel and retry (C2)."""

from __future__ import annotations

import pytest

from penstock.domain.errors import PenstockError, StoreBusy, UnknownWorkflow, UsageError
from penstock.domain.job import Event, State
from penstock.domain.workflows import workflow_id
from penstock.store import contract as p
from tests.contract.flows import CANCELLED, COMPLETED, FAILED, RUNNING, Flow, complete, end, types
from tests.contract.world import World, policy_text

# Ends that nobody reports


def test_expired_cancelled_and_recovered_jobs_are_noticed(world: World, session: int) -> None:
    expired = Flow(
        world,
        (
            "first",
            1,
            [],
        ),
        ("second", 1, ["first"]),
    )
    job = world.new_job(type="brief", parent=expired.id, ttl=5.0)
    expired.new = p.NewWorkflow(
        id=expired.id, name="flow", steps=(p.NewStep("brief", (job,)), p.NewStep("b", (), (0,)))
    )
    expired.enqueue()
    world.clock.advance(6)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    cancelled = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    world.cancel(cancelled.ids("first")[0])
    lost = Flow(world, ("first", 1, ()), ("second", 1, ["first"]))
    once = policy_text(attempts=1)
    lost.new = p.NewWorkflow(
        id=lost.id, name="flow",
        steps=(p.NewStep("first", (world.new_job(type="dies", parent=lost.id, policy=once),)), lost.new.steps[1]),
    )  # fmt: skip
    lost.enqueue()
    other = world.register("other")
    assert types(world.claim(other)) == ["dies"]
    world.clock.advance(40)
    world.heartbeat(session)
    world.recover()
    states = [world.state(job_id) for job_id in (job.id, cancelled.ids("first")[0], lost.ids("first")[0])]
    assert states == [State.EXPIRED, State.CANCELLED, State.DEAD]
    assert [flow.state for flow in (expired, cancelled, lost)] == [RUNNING] * 3
    assert lost.settle() == 3
    assert [flow.state for flow in (expired, cancelled, lost)] == [FAILED] * 3
    assert lost.settle() == 0
    assert world.claim(session) == []


def test_a_dead_letter_that_is_purged_did_not_complete(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    world.end(world.claim_one(session), Event.FAIL)  # Its workflow is not told.
    assert world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter())).wait().jobs == 1
    assert (flow.settle(), flow.state, world.claim(session)) == (0, FAILED, [])


def test_a_job_that_is_gone_was_completed(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    world.complete(world.claim_one(session), history="none")
    assert (flow.state, flow.settle()) == (RUNNING, 1)
    assert types(world.claim(session)) == ["second"]


def test_only_the_leader_settles(world: World, session: int) -> None:
    term = world.store.lead_store(p.LeadStore(session, 10.0)).wait().term
    assert world.store.settle_workflows(p.SettleWorkflows(term)).wait().jobs == 0
    with pytest.raises(PenstockError, match="another worker leads"):
        world.store.settle_workflows(p.SettleWorkflows(term - 1)).wait()


# Cancel and retry


def test_a_cancelled_workflow_ends_when_what_runs_has_ended(world: World, session: int) -> None:
    flow = Flow(world, ("first", 7), ("second", 1, ["first"]), compensate=True).enqueue()
    claims = world.claim(session, 2)
    assert flow.cancel(limit=2) == 7
    assert flow.state is RUNNING
    assert flow.step("first").jobs == {State.CLAIMED: 2, State.CANCELLED: 5}
    complete(world, *claims)
    assert (flow.state, world.claim(session)) == (CANCELLED, [])
    assert flow.cancel() == 0


def test_a_workflow_in_which_nothing_runs_is_cancelled_at_once(world: World, session: int) -> None:
    flow = Flow(world, ("first", 3), ("second", 1, ["first"])).enqueue()
    assert flow.cancel() == 3
    assert (flow.state, world.claim(session)) == (CANCELLED, [])


def test_retry_runs_what_did_not_complete(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"]), compensate=True).enqueue()
    good, bad = world.claim(session)
    complete(world, good, result='"kept"')
    end(world, bad)
    complete(world, world.claim_one(session))  # The compensation.
    assert flow.retry() == 2
    again = world.claim_one(session)
    assert (again.type, again.id == bad.id, flow.state) == ("first", False, RUNNING)
    assert world.read(bad.id).retried_as == again.id
    complete(world, again, result='"new"')
    complete(world, world.claim_one(session))
    assert (flow.state, world.claim(session)) == (COMPLETED, [])
    assert sorted(str(one) for one in flow.results("first")) == ['"kept"', '"new"']


def test_a_workflow_that_fails_again_is_compensated_again(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), compensate=True).enqueue()
    for _ in range(2):
        end(world, world.claim_one(session))
        undo = world.claim_one(session)
        assert undo.type == "undo"
        complete(world, undo)
        assert flow.retry() == 1
    assert types(world.claim(session)) == ["first"]


def test_a_cancelled_workflow_can_be_retried(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 2, ["first"]), ("third", 1, ["second"])).enqueue()
    complete(world, world.claim_one(session))
    flow.cancel()
    assert flow.retry() == 3
    assert sorted(types(world.claim(session))) == ["second", "second"]


def test_a_step_without_jobs_waits_again_when_a_workflow_is_retried(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("none", 0, ["first"]), ("also", 0, ["none"]), ("last", 1, ["also"])).enqueue()
    for event in (Event.FAIL, Event.CANCEL):
        end(world, world.claim_one(session), event)
        assert (flow.state, flow.retry()) == (FAILED, 2)
    for name in ("first", "last"):
        claims = world.claim(session)
        assert (types(claims), flow.state) == ([name], RUNNING)
        complete(world, *claims)
    assert (flow.state, world.claim(session)) == (COMPLETED, [])


def test_a_step_without_jobs_lets_pass_what_is_retried_after_it(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("none", 0, ["first"]), ("last", 1, ["none"])).enqueue()
    complete(world, world.claim_one(session))
    end(world, world.claim_one(session))
    assert flow.retry() == 1
    complete(world, world.claim_one(session))
    assert (flow.state, world.claim(session)) == (COMPLETED, [])


def test_only_what_has_ended_and_not_completed_is_retried(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1)).enqueue()
    with pytest.raises(UsageError, match="cancel it first"):
        flow.retry()
    complete(world, world.claim_one(session))
    with pytest.raises(UsageError, match="nothing is left"):
        flow.retry()
    lenient = Flow(world, ("first", 1), on_failure="continue").enqueue()
    end(world, world.claim_one(session))
    assert lenient.state is COMPLETED
    with pytest.raises(UsageError, match="1 of its jobs did not complete, and it went on without them"):
        lenient.retry()
    failed = Flow(world, ("first", 1)).enqueue()
    end(world, world.claim_one(session))
    with pytest.raises(StoreBusy, match="retry it again"):
        world.store.retry_workflow(p.RetryWorkflow(id=failed.id, new_ids=[])).wait()
    assert failed.state is FAILED


def test_unknown_workflows_are_named(world: World) -> None:
    unknown = workflow_id(world.new_id())
    assert world.store.read_workflow(unknown).wait() is None
    with pytest.raises(UnknownWorkflow, match=unknown):
        world.store.cancel_workflow(p.CancelWorkflow(id=unknown)).wait()
    with pytest.raises(UnknownWorkflow, match=unknown):
        world.store.retry_workflow(p.RetryWorkflow(id=unknown, new_ids=[])).wait()


def test_one_that_is_being_stopped_says_so(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"])).enqueue()
    assert flow.read().stopping is None
    first, other = world.claim(session)
    world.start(first, other)
    end(world, first)
    assert (flow.state, flow.read().stopping) == (RUNNING, FAILED)
    flow.cancel()
    assert (flow.state, flow.read().stopping) == (RUNNING, CANCELLED)
    assert [one.stopping for one in world.store.list_workflows(p.ListWorkflows()).wait()] == [CANCELLED]
    with pytest.raises(UsageError, match="it ends when its last job has stopped"):
        flow.retry()
    end(world, other, Event.CANCEL)
    assert (flow.state, flow.read().stopping) == (CANCELLED, None)
