"""Queues and types as people see them."""

from __future__ import annotations

from penstock.domain.flow.pauses import Pause, Pauses
from penstock.observe.queues import Flow, flows
from penstock.store.contract import OpenJobs

JOBS = [
    OpenJobs(type="send", queue="mail", pending=3, scheduled=4, retrying=1, running=2, oldest_due_at=70),
    OpenJobs(type="list", queue="mail", pending=1, oldest_due_at=50),
    OpenJobs(type="send", queue="rest", scheduled=2),
]


def test_the_jobs_of_a_queue_are_added_up_whatever_their_type() -> None:
    mail, rest = flows("queue", JOBS, Pauses())
    assert mail == Flow(name="mail", pending=4, scheduled=4, retrying=1, running=2, oldest_due_at=50)
    assert rest == Flow(name="rest", scheduled=2)
    assert [flow.name for flow in flows("type", JOBS, Pauses())] == ["list", "send"]


def test_what_is_scheduled_and_was_never_tried_does_not_keep_a_queue_from_being_drained() -> None:
    assert [flow.unfinished for flow in flows("queue", JOBS, Pauses())] == [7, 0]


def test_what_is_paused_is_there_also_without_jobs() -> None:
    pause = Pause("queue", "later", 1, "ann")
    later, *others = flows("queue", JOBS, Pauses([pause, Pause("type", "send", 1, "ann")]))
    assert later == Flow(name="later", pause=pause)
    assert {flow.pause for flow in others} == {None}
