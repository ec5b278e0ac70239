"""What is written down of workflows around a real store passes the rules; which job is whose is known after retries."""

from __future__ import annotations

from penstock.domain.job import Event
from penstock.store import contract as p
from tests.checker.check import check
from tests.checker.conftest import Recorded
from tests.checker.events import FinishAsked
from tests.checker.history import History
from tests.checker.story import Story, step
from tests.checker.truth import TrueWorkflow, read_truth
from tests.checker.workflows import flows_of
from tests.contract.flows import Flow, complete, end

STEPS = ("first", 1), ("many", 2, ["first"]), ("last", 1, ["many"])


def promises_hold(recorded: Recorded) -> bool:
    return check(recorded.history, read_truth(recorded.bare)) is None


def test_a_workflow_from_its_enqueue_to_its_end(recorded: Recorded) -> None:
    flow = Flow(recorded, *STEPS).enqueue()
    recorded.store.enqueue_workflow(p.EnqueueWorkflow(flow.new)).wait()
    session = recorded.register()
    for _ in STEPS:
        complete(recorded, *recorded.claim(session))
    made = History(recorded.history).of("enqueue_workflow")
    assert [one.told.created for one in made] == [True, False]
    assert [[job.id for job in one.jobs] for one in made[0].asked.workflow.steps] == [
        flow.ids(name) for name in ("first", "many", "last")
    ]
    assert read_truth(recorded.bare).workflows == (TrueWorkflow(flow.id, "completed"),)
    assert promises_hold(recorded)


def test_a_workflow_that_goes_with_an_end_is_written_down(recorded: Recorded) -> None:
    recorded.add()
    session = recorded.register()
    claim = recorded.claim_one(session)
    flow = Flow(recorded, ("only", 1), parent=claim.id)
    done = p.Completed(claim.token, recorded.clock.now_us())
    recorded.store.finish_jobs(p.FinishJobs([done], workflows=[(claim.token, flow.new)])).wait()
    asked = recorded.history[-2]
    assert isinstance(asked, FinishAsked)
    assert [(one.token, one.workflow.id) for one in asked.workflows] == [(claim.token, flow.id)]
    complete(recorded, *recorded.claim(session))
    assert promises_hold(recorded)


def test_a_failed_workflow_is_compensated_cancelled_and_retried(recorded: Recorded) -> None:
    flow = Flow(recorded, *STEPS, compensate=True).enqueue()
    session = recorded.register()
    end(recorded, recorded.claim_one(session), Event.FAIL)
    complete(recorded, recorded.claim_one(session))
    recorded.clock.advance(1)
    flow.retry()
    assert flow.cancel() == 1
    recorded.clock.advance(1)
    flow.retry()
    for _ in STEPS:
        complete(recorded, *recorded.claim(session))
    found = History(recorded.history)
    assert [one.told.jobs for one in found.of("retry_workflow")] == [4, 4]
    assert [(one.told.before, one.told.whole) for one in found.of("cancel_workflow")] == [("running", True)]
    [known] = flows_of(found, read_truth(recorded.bare)).values()
    assert len(known.generations) == 3
    assert [one.steps[1:] for one in known.generations] == [known.last.steps[1:]] * 3
    assert known.last.steps[0][0] == found.of("retry_workflow")[1].asked.new_ids[0]
    assert promises_hold(recorded)


def test_what_a_leader_settles_is_a_duty(recorded: Recorded) -> None:
    """Somebody has cancelled its job by itself."""
    flow = Flow(recorded, ("only", 1), compensate=True).enqueue()
    recorded.cancel(flow.ids("only")[0])
    leader = recorded.register("leader")
    recorded.store.lead_store(p.LeadStore(leader, 10.0)).wait()
    assert recorded.store.settle_workflows(p.SettleWorkflows(term=1)).wait().jobs == 1
    assert [one.told.jobs for one in History(recorded.history).of("settle")] == [1]
    assert History(recorded.history).of("duty")[-1].asked.name == "settle_workflows"
    complete(recorded, recorded.claim_one(leader))
    assert promises_hold(recorded)


def test_a_retry_that_nobody_heard_of_counts_if_its_jobs_are_there() -> None:
    story = Story()
    story.workflow("flow", step("a", "b"), undo="undo")
    for id in ("lost-1", "lost-2"):
        story.ask("client", "retry_workflow", id="flow", new_ids=(f"{id}-a", f"{id}-undo"))
    story.stored("a", created_at=1)
    story.stored("b", "dead", created_at=1)
    story.stored("lost-2-a", created_at=2)
    [flow] = flows_of(History(story.events), story.truth).values()
    assert [(one.steps, one.compensate) for one in flow.generations] == [
        ((("a", "b"),), "undo"),
        ((("a", "lost-2-a"),), "lost-2-undo"),
    ]


def test_a_workflow_is_not_judged_if_jobs_of_a_retry_may_have_been_removed() -> None:
    story = Story()
    story.workflow("flow", step("a", remove_on_complete=True))
    story.stored("a", "dead", attempt=0)
    story.retry_workflow("flow", "again", "unused")
    story.workflow_stored("flow")
    assert check(story.events, story.truth) is None


def test_what_was_only_planned_when_a_workflow_was_retried_keeps_its_id() -> None:
    """However it ended afterwards."""
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    story.retry_workflow("flow", "again", "unused", "unused")
    story.stored("a", "dead", created_at=1)
    story.stored("again", created_at=2)
    story.stored("b", "dead", created_at=3)
    [flow] = flows_of(History(story.events), story.truth).values()
    assert flow.last.steps == (("again",), ("b",))
