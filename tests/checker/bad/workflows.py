"""Workflows that begin too early, leave jobs out, get stuck, or are compensated for nothing."""

from __future__ import annotations

from tests.checker.bad.register import breaks
from tests.checker.events import FollowingWorkflow, Success
from tests.checker.story import Story, flow, step

ORDER = "steps in their order"
WHOLE = "whole workflows"
STUCK = "no workflow is stuck"
UNDO = "compensation of failures"


def ran(story: Story, id: str, token: int, event: str = "complete") -> None:
    story.claim("w1", (id, token, 1))
    if event == "complete":
        story.complete("w1", id, token)
    else:
        story.end("w1", id, token, event)
    story.stored(id, {"complete": "completed", "fail": "dead"}[event])


# Steps


@breaks(ORDER)
def step_begins_beside_the_one_before_it() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    story.claim("w1", ("a", 1, 1))
    ran(story, "b", 2)
    story.complete("w1", "a", 1)
    story.stored("a")
    story.workflow_stored("flow")
    return story


@breaks(ORDER)
def fan_in_does_not_wait_for_all() -> Story:
    story = Story()
    story.workflow("flow", step("a1", "a2"), step(after=(0,)), step("b", after=(1,)))
    ran(story, "a1", 1)
    ran(story, "b", 2)
    ran(story, "a2", 3)
    story.workflow_stored("flow")
    return story


@breaks(ORDER)
def step_begins_though_the_one_before_it_never_did() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)), step("c", after=(1,)))
    ran(story, "a", 1)
    ran(story, "c", 2)
    story.workflow_stored("flow", "cancelled")
    return story


@breaks(ORDER)
def step_begins_after_a_failure() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    ran(story, "a", 1, "fail")
    ran(story, "b", 2)
    story.workflow_stored("flow", "failed")
    return story


@breaks(ORDER)
def step_begins_after_a_retry_that_has_not_helped() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    ran(story, "a", 1, "fail")
    story.retry_workflow("flow", "a-again", "unused")
    ran(story, "a-again", 2, "fail")
    ran(story, "b", 3)
    story.workflow_stored("flow", "failed")
    return story


@breaks(ORDER)
def step_begins_in_a_cancelled_workflow() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    story.claim("w1", ("a", 1, 1))
    story.cancel_workflow("flow")
    story.complete("w1", "a", 1)
    story.stored("a")
    ran(story, "b", 2)
    story.workflow_stored("flow", "cancelled")
    return story


# Wholes


@breaks(WHOLE, "no loss", "conservation")
def workflow_is_lost() -> Story:
    story = Story()
    story.workflow("flow", step("a"))
    return story


@breaks(WHOLE)
def workflow_is_lost_and_its_job_is_not() -> Story:
    story = Story()
    story.workflow("flow", step("a"))
    ran(story, "a", 1)
    return story


@breaks(WHOLE)
def workflow_comes_from_nowhere() -> Story:
    story = Story()
    story.workflow_stored("flow")
    return story


@breaks(WHOLE)
def workflow_of_a_refused_end_is_stored() -> Story:
    story = Story()
    story.enqueue("maker")
    story.claim("w1", ("maker", 1, 1))
    story.recover("w2", "maker")
    story.claim("w2", ("maker", 2, 2, 1))
    follows = (FollowingWorkflow(1, flow("flow", step())),)
    call = story.ask("w1", "finish", completed=(Success("maker", 1),), workflows=follows)
    story.tell("w1", "finish", call, lost=(1,))
    story.complete("w2", "maker", 2)
    story.stored("maker", attempt=2, crashes=1, steps="recover")
    story.workflow_stored("flow")
    return story


@breaks(WHOLE)
def workflow_is_created_twice() -> Story:
    story = Story()
    story.workflow("flow", step("a"))
    story.workflow("flow", step("a"))
    ran(story, "a", 1)
    story.workflow_stored("flow")
    return story


@breaks(WHOLE)
def completed_workflow_has_left_a_job_out() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b1", "b2", after=(0,)))
    ran(story, "a", 1)
    ran(story, "b1", 2)
    story.workflow_stored("flow")
    return story


@breaks(WHOLE)
def workflow_completes_with_a_failed_job() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    ran(story, "a", 1)
    ran(story, "b", 2, "fail")
    story.workflow_stored("flow")
    return story


@breaks("no loss", "conservation")
def job_of_a_workflow_is_stored_twice() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    ran(story, "a", 1)
    ran(story, "b", 2)
    story.stored("b")
    story.workflow_stored("flow")
    return story


@breaks("nothing from nowhere", "conservation")
def job_of_a_refused_workflow_is_stored() -> Story:
    story = Story()
    story.workflow("flow", step("a"), phase="fail")
    story.stored("a", attempt=0, state="cancelled")
    return story


# Ends


@breaks(STUCK)
def workflow_is_stuck() -> Story:
    story = Story()
    story.workflow("flow", step("a"), step("b", after=(0,)))
    ran(story, "a", 1)
    story.workflow_stored("flow", "running")
    return story


@breaks(STUCK)
def workflow_ends_before_its_last_job() -> Story:
    story = Story(waiting=frozenset({"task"}))
    story.workflow("flow", step("a", "b"))
    ran(story, "a", 1)
    story.stored("b", "pending", attempt=0)
    story.workflow_stored("flow")
    return story


# Compensation


@breaks(UNDO)
def completed_workflow_is_compensated() -> Story:
    story = Story()
    story.workflow("flow", step("a"), undo="undo")
    ran(story, "a", 1)
    ran(story, "undo", 2)
    story.workflow_stored("flow")
    return story


@breaks(UNDO)
def failed_workflow_is_not_compensated() -> Story:
    story = Story()
    story.workflow("flow", step("a"), undo="undo")
    ran(story, "a", 1, "fail")
    story.workflow_stored("flow", "failed")
    return story


@breaks(UNDO)
def workflow_is_compensated_while_it_runs() -> Story:
    story = Story()
    story.workflow("flow", step("a", "b"), undo="undo")
    ran(story, "a", 1, "fail")
    story.claim("w1", ("b", 2, 1))
    ran(story, "undo", 3)
    story.complete("w1", "b", 2)
    story.stored("b")
    story.workflow_stored("flow", "failed")
    return story
