"""Workflows: steps begin when those before them have ended, once, whatever becomes of the jobs (C2)."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from penstock.domain.errors import ConfigError, PayloadTooLarge, StoreRefused, UsageError
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import Tenant
from penstock.domain.workflows import workflow_id
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.engines import Engine
from tests.contract.flows import COMPLETED, FAILED, RUNNING, Flow, complete, end, types
from tests.contract.world import World

# Order


def test_a_step_begins_when_the_one_before_it_has_ended(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"]), ("third", 1, ["second"])).enqueue()
    for name in ("first", "second", "third"):
        claims = world.claim(session)
        assert types(claims) == [name]
        assert [claim.parent for claim in claims] == [flow.id]
        assert flow.state is RUNNING
        complete(world, *claims)
    assert world.claim(session) == []
    found = flow.read()
    assert (found.state, found.size, found.ended) == (COMPLETED, 3, 3)
    assert found.ended_at is not None


def test_a_step_waits_for_every_job_of_every_step_that_it_comes_after(world: World, session: int) -> None:
    flow = Flow(world, ("left", 2), ("right", 1), ("join", 1, ["left", "right"])).enqueue()
    first, second, third = world.claim(session)
    complete(world, first)
    complete(world, third)
    assert world.claim(session) == []
    assert flow.step("join").begun is False
    complete(world, second)
    assert types(world.claim(session)) == ["join"]


def test_jobs_that_end_in_one_call_begin_what_follows_once(world: World, session: int) -> None:
    flow = Flow(world, ("many", 20), ("more", 20, ["many"]), ("last", 1, ["more"])).enqueue()
    assert complete(world, *world.claim(session)) == []
    assert len(world.claim(session, 5)) == 5
    assert flow.step("more").jobs == {State.CLAIMED: 5, State.PENDING: 15}
    claims = world.claim(session)
    assert len(claims) == 15


def test_steps_may_branch_and_join(world: World, session: int) -> None:
    Flow(
        world,
        ("root", 1),
        ("a", 2, ["root"]),
        ("b", 1, ["root"]),
        ("join", 1, ["a", "b"]),
        ("end", 1, ["root", "join"]),
    ).enqueue()
    seen = []
    while claims := world.claim(session):
        seen.append(sorted(types(claims)))
        complete(world, *claims)
    assert seen == [["root"], ["a", "a", "b"], ["join"], ["end"]]


def test_a_step_without_jobs_has_ended_as_it_begins(world: World, session: int) -> None:
    flow = Flow(world, ("none", 0), ("nothing", 0, ["none"]), ("last", 1, ["nothing"])).enqueue()
    complete(world, world.claim_one(session))
    assert flow.state is COMPLETED
    empty = Flow(world, ("none", 0), ("nothing", 0, ["none"])).enqueue()
    assert empty.state is COMPLETED


@pytest.mark.turns
def test_very_many_steps_without_jobs_end_one_after_the_other(world: World, session: int) -> None:
    names = [f"step{number}" for number in range(2000)]
    chain = [(name, 0, [before]) for before, name in pairwise(["first", *names])]
    flow = Flow(world, ("first", 1), *chain, ("last", 1, [names[-1]])).enqueue()
    complete(world, world.claim_one(session))
    assert types(world.claim(session)) == ["last"]
    assert Flow(world, ("first", 0), *chain).enqueue().state is COMPLETED
    assert flow.state is RUNNING


def test_a_key_that_has_got_another_limit_meanwhile_does_not_hold_up_a_workflow(world: World, session: int) -> None:
    """Nobody is there to be told. The limit that is stored holds."""
    planned = (Gate("shop:7", 1, None, "shop:{shop}"),)
    first, second = (world.new_job(type=name) for name in ("first", "second"))
    steps = p.NewStep("first", (first,)), p.NewStep("second", (msgspec.structs.replace(second, gates=planned),), (0,))
    flow = p.NewWorkflow(id=workflow_id(world.new_id()), name="flow", steps=steps)
    world.store.enqueue_workflow(p.EnqueueWorkflow(flow)).wait()
    held = msgspec.structs.replace(world.new_job(type="other"), gates=(Gate("shop:7", 2, None, "shop:7"),))
    world.enqueue(held)
    refused = msgspec.structs.replace(world.new_job(type="third"), gates=planned)
    with pytest.raises(ConfigError, match="two limits"):
        world.enqueue(refused)
    claims = world.claim(session, types=("first",))
    complete(world, *claims)
    assert sorted(types(world.claim(session))) == ["other", "second"]


def test_a_follow_up_that_is_refused_stores_nothing_of_its_call(world: World, session: int) -> None:
    parents = world.add_many(2)
    claims = world.claim(session)
    held = msgspec.structs.replace(world.new_job(type="other"), gates=(Gate("shop:7", 2, None, "shop:7"),))
    world.enqueue(held)
    refused = msgspec.structs.replace(world.new_job(), gates=(Gate("shop:7", 1, None, "shop:{shop}"),))
    completed = [p.Completed(claim.token, world.clock.now_us()) for claim in claims]
    with pytest.raises(ConfigError, match="two limits"):
        world.store.finish_jobs(p.FinishJobs(completed, follow_ups=[(claims[0].token, refused)])).wait()
    assert [world.read(parent).state for parent in parents] == [State.CLAIMED] * 2
    assert world.store.finish_jobs(p.FinishJobs(completed)).wait().lost == []
    assert [world.read(parent).state for parent in parents] == [State.COMPLETED] * 2


def test_an_id_that_is_taken_is_refused_and_nothing_is_stored(world: World) -> None:
    flow = Flow(world, ("first", 1)).enqueue()
    again = Flow(world, ("first", 1))
    steps = tuple(msgspec.structs.replace(step, jobs=flow.new.steps[0].jobs) for step in again.new.steps)
    with pytest.raises(StoreRefused):
        world.store.enqueue_workflow(p.EnqueueWorkflow(msgspec.structs.replace(again.new, steps=steps))).wait()
    assert world.store.read_workflow(again.id).wait() is None


def test_the_same_workflow_is_stored_once(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"])).enqueue()
    assert world.store.enqueue_workflow(p.EnqueueWorkflow(flow.new)).wait().created is False
    assert len(world.claim(session)) == 2


def test_options_count_from_when_a_step_begins(world: World, session: int) -> None:
    Flow(world, ("first", 1), ("later", 1, ["first"])).enqueue()
    flow = Flow(world, ("first", 1)).new
    delayed = world.new_job(type="delayed", parent=flow.id, delay=60.0)
    step = p.NewStep("delayed", (delayed,), (0,))
    new = p.NewWorkflow(id=flow.id, name="flow", steps=(*flow.steps, step))
    world.store.enqueue_workflow(p.EnqueueWorkflow(new)).wait()
    world.clock.advance(100)
    complete(world, *world.claim(session))
    assert types(world.claim(session)) == ["later"]
    assert world.state(delayed.id) is State.SCHEDULED
    world.clock.advance(61)
    assert types(world.claim(session)) == ["delayed"]


# Planned jobs


def test_a_planned_job_reads_as_blocked(world: World) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    (planned,) = flow.ids("second")
    job = world.read(planned)
    assert (job.state, job.type, job.parent, job.attempt) == (State.BLOCKED, "second", flow.id, 0)
    assert job.reason is not None
    assert "second" in job.reason
    assert flow.step("second").jobs == {State.BLOCKED: 1}
    assert world.store.list_jobs(p.ListJobs(type="second")).wait() == [job]


def test_planned_jobs_are_counted_until_they_begin(world: World, session: int) -> None:
    Flow(world, ("first", 1), ("second", 3, ["first"]), ("third", 1, ["second"])).enqueue()

    def counts() -> set[p.Count]:
        return set(world.store.count_jobs().wait())

    first, blocked = p.Count("first", "default", State.PENDING, 1), p.Count("third", "default", State.BLOCKED, 1)
    assert counts() == {first, p.Count("second", "default", State.BLOCKED, 3), blocked}
    complete(world, world.claim_one(session))
    done = p.Count("first", "default", State.COMPLETED, 1)
    assert counts() == {done, p.Count("second", "default", State.PENDING, 3), blocked}


def test_planned_jobs_are_listed_among_the_others_page_by_page(world: World) -> None:
    flow = Flow(world, ("first", 2), ("second", 3, ["first"])).enqueue()
    world.add()
    other = Flow(world, ("first", 1), ("third", 2, ["first"])).enqueue()
    listed = world.list_ids()
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == 9
    assert {*flow.ids("second"), *other.ids("third")} < set(listed)
    pages: list[str] = []
    while page := world.list_ids(before=pages[-1] if pages else None, limit=2):
        pages += page
    assert pages == listed
    assert world.list_ids(states=frozenset({State.PENDING}), type="second") == []
    blocked = frozenset({State.BLOCKED, State.RUNNING})
    assert set(world.list_ids(states=blocked)) == {*flow.ids("second"), *other.ids("third")}
    assert set(world.list_ids(parent=other.id)) == {*other.ids("first"), *other.ids("third")}


def test_planned_jobs_are_found_by_what_they_will_be(world: World) -> None:
    tenant, tags = Tenant("acme", "eu"), ("red", "blue")
    first, plain = world.new_job(type="first"), world.new_job(type="second")
    second = world.new_job(type="second", queue="slow", tenant=tenant, tags=tags)
    steps = p.NewStep("first", (first,)), p.NewStep("second", (second, plain), (0,))
    flow = p.NewWorkflow(id=workflow_id(world.new_id()), name="flow", steps=steps)
    world.store.enqueue_workflow(p.EnqueueWorkflow(flow)).wait()
    asked: list[dict[str, Any]] = [
        {"queue": "slow"}, {"tenant": "acme"}, {"tenant": "acme", "workspace": "eu"}, {"tag": "blue"},
        {"type": "second", "tag": "red"},
    ]  # fmt: skip
    for wanted in asked:
        assert world.list_ids(**wanted) == [second.id], wanted
        found = world.store.count_jobs(p.CountJobs(**wanted)).wait()
        assert found == [p.Count("second", "slow", State.BLOCKED, 1, "acme")], wanted
    asked = [{"queue": "fast"}, {"tenant": "acme", "workspace": "us"}, {"tag": "green"}, {"parent": first.id}]
    for nothing in asked:
        assert world.list_ids(**nothing) == [], nothing
        assert world.store.count_jobs(p.CountJobs(**nothing)).wait() == [], nothing
    by_tenant = world.store.count_jobs(p.CountJobs(by_tenant=True, type="second")).wait()
    assert set(by_tenant) == {
        p.Count("second", "slow", State.BLOCKED, 1, "acme"),
        p.Count("second", "default", State.BLOCKED, 1),
    }


def test_a_planned_job_is_cancelled_only_with_its_workflow(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    (planned,) = flow.ids("second")
    with pytest.raises(UsageError, match=f"not enqueued yet.*step 'second'.*penstock workflows cancel {flow.id}"):
        world.cancel(planned)
    complete(world, world.claim_one(session))
    assert types(world.claim(session)) == ["second"]


def test_what_was_planned_and_never_begins_is_not_waited_for(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"])).enqueue()
    first, other = world.claim(session)
    end(world, first, Event.FAIL)
    assert flow.state is RUNNING
    assert flow.ids("second")[0] not in world.list_ids()
    assert {count.state for count in world.store.count_jobs().wait()} == {State.DEAD, State.CLAIMED}
    complete(world, other)
    assert flow.state is FAILED
    assert {count.state for count in world.store.count_jobs().wait()} == {State.DEAD, State.COMPLETED}


def test_jobs_are_found_by_their_workflow(world: World, session: int) -> None:
    world.add()
    flow = Flow(world, ("first", 2), ("second", 1, ["first"])).enqueue()
    jobs = sorted([*flow.ids("first"), *flow.ids("second")])
    assert sorted(world.list_ids(parent=flow.id)) == jobs
    complete(world, *world.claim(session, types=("first",)))
    assert sorted(world.list_ids(parent=flow.id)) == jobs


# Results


def test_results_are_passed_on_in_order(world: World, session: int) -> None:
    flow = Flow(world, ("many", 3), ("sum", 1, ["many"])).enqueue()
    claims = {claim.id: claim for claim in world.claim(session)}
    first, second, third = flow.ids("many")
    complete(world, claims[third], result='"c"')
    complete(world, claims[first], result='"a"')
    complete(world, claims[second])
    assert flow.results("many") == ['"a"', None, '"c"']


@pytest.mark.parametrize("history", ["default", "none", "failures", "all"])
def test_results_outlive_their_jobs(world: World, session: int, history: p.History) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    complete(world, world.claim_one(session), result='"kept"', history=history)
    world.clock.advance(10)
    world.prune(completed_after=1.0)
    assert world.find(flow.ids("first")[0]) is None
    assert flow.results("first") == ['"kept"']
    complete(world, world.claim_one(session), history=history)
    assert flow.state is COMPLETED


def test_results_over_the_limit_are_refused(world: World, session: int) -> None:
    flow = Flow(world, ("many", 3), ("sum", 1, ["many"])).enqueue()
    complete(world, *world.claim(session), result='"äöü"')
    assert len(flow.results("many", bytes_max=24)) == 3
    with pytest.raises(PayloadTooLarge, match="return references"):
        flow.results("many", bytes_max=23)


def test_results_of_an_unknown_step_name_those_that_there_are(world: World) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    with pytest.raises(UsageError, match="first, second"):
        flow.results("third")


# Failure


@pytest.mark.parametrize(("event", "state"), [(Event.FAIL, State.DEAD), (Event.CANCEL, State.CANCELLED)])
def test_after_a_failure_no_later_step_begins(world: World, session: int, event: Event, state: State) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"])).enqueue()
    good, bad = world.claim(session)
    end(world, bad, event)
    assert flow.state is RUNNING
    complete(world, good)
    assert world.claim(session) == []
    found = flow.read()
    assert found.state is FAILED
    assert found.steps[0].jobs == {State.COMPLETED: 1, state: 1}
    assert found.steps[1].jobs == {State.BLOCKED: 1}


def test_what_has_begun_elsewhere_runs_on_after_a_failure(world: World, session: int) -> None:
    flow = Flow(world, ("bad", 1), ("good", 1), ("after", 1, ["good"])).enqueue()
    bad, good = world.claim(session)
    end(world, bad)
    assert flow.state is RUNNING
    complete(world, good)
    assert (flow.state, world.claim(session)) == (FAILED, [])


def test_a_step_that_may_fail_does_not_stop_what_follows(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"]))
    steps = (p.NewStep("first", flow.new.steps[0].jobs, (), "continue"), flow.new.steps[1])
    flow.new = p.NewWorkflow(id=flow.id, name="flow", steps=steps)
    flow.enqueue()
    good, bad = world.claim(session)
    end(world, bad)
    complete(world, good, result="1")
    found = world.store.read_results(p.ReadResults(flow.id, "first", 1000)).wait()
    assert sorted((one.state, one.result) for one in found) == [(State.COMPLETED, "1"), (State.DEAD, None)]
    complete(world, world.claim_one(session))
    assert flow.state is COMPLETED


def test_a_failed_workflow_is_compensated_once(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"]), compensate=True).enqueue()
    end(world, world.claim_one(session))
    undo = world.claim_one(session)
    assert (undo.type, undo.parent) == ("undo", flow.id)
    complete(world, undo)
    assert (flow.state, world.claim(session)) == (FAILED, [])
    fine = Flow(world, ("first", 1), compensate=True).enqueue()
    complete(world, world.claim_one(session))
    assert (fine.state, world.claim(session)) == (COMPLETED, [])


def test_an_attempt_that_is_tried_again_is_not_the_end(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    end(world, world.claim_one(session), Event.BACK_OFF)
    end(world, world.claim_one(session), Event.RELEASE)
    assert flow.state is RUNNING
    complete(world, world.claim_one(session))
    assert types(world.claim(session)) == ["second"]


# Fencing


def test_a_lost_token_begins_nothing(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    lost = world.claim_one(session)
    end(world, lost, Event.RELEASE)
    current = world.claim_one(session)
    assert complete(world, lost) == [lost.token]
    assert world.claim(session) == []
    complete(world, current)
    assert complete(world, current) == [current.token]
    assert types(world.claim(session)) == ["second"]
    assert flow.step("first").jobs == {State.COMPLETED: 1}


def test_a_cancel_wins_over_a_completion(world: World, session: int) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    claim = world.claim_one(session)
    world.cancel(claim.id)
    complete(world, claim, result="1")
    assert (flow.state, world.claim(session)) == (FAILED, [])
    assert flow.step("first").jobs == {State.CANCELLED: 1}


# Together with other things


def test_a_workflow_can_be_enqueued_with_a_completion(world: World, session: int) -> None:
    parent = world.add(type="parent")
    claim = world.claim_one(session)
    flow = Flow(world, ("first", 1), ("second", 1, ["first"]), parent=parent)
    done = p.Completed(claim.token, world.clock.now_us())
    lost = p.Completed(claim.token + 100, world.clock.now_us())
    dropped = Flow(world, ("dropped", 1))
    finish = p.FinishJobs([done, lost], workflows=[(claim.token, flow.new), (lost.token, dropped.new)])
    assert world.store.finish_jobs(finish).wait().lost == [lost.token]
    assert flow.read().parent == parent
    assert types(world.claim(session)) == ["first"]
    assert world.store.read_workflow(dropped.id).wait() is None


def test_a_workflow_in_a_transaction_of_the_callers(world: World, session: int) -> None:
    kept, dropped = Flow(world, ("kept", 1)), Flow(world, ("dropped", 1))
    with world.store.transaction() as tx:
        assert world.store.enqueue_workflow(p.EnqueueWorkflow(kept.new, tx)).wait().created is True
    with suppress(ZeroDivisionError), world.store.transaction() as tx:
        world.store.enqueue_workflow(p.EnqueueWorkflow(dropped.new, tx)).wait()
        raise ZeroDivisionError
    assert types(world.claim(session)) == ["kept"]
    assert world.store.read_workflow(dropped.id).wait() is None


def test_workflows_are_listed_newest_first(world: World, session: int) -> None:
    flows = [Flow(world, ("first", 1)).enqueue() for _ in range(3)]
    complete(world, world.claim_one(session))

    def listed(**fields: Any) -> list[str]:
        return [one.id for one in world.store.list_workflows(p.ListWorkflows(**fields)).wait()]

    ids = [flow.id for flow in reversed(flows)]
    assert listed() == ids
    assert listed(limit=1) == ids[:1]
    assert listed(before=ids[0]) == ids[1:]
    assert listed(states=frozenset({COMPLETED})) == [flows[0].id]
    assert listed(name="other") == []
    assert listed(name="flow", states=frozenset({RUNNING})) == ids[:2]


def test_retention_removes_what_has_ended(world: World, session: int) -> None:
    ended, failed = (Flow(world, ("first", 1)).enqueue() for _ in range(2))
    one, other = world.claim(session)
    complete(world, one)
    end(world, other)
    running = Flow(world, ("first", 1), ("second", 1, ["first"])).enqueue()
    world.clock.advance(100)
    world.prune(completed_after=50.0)
    found = [world.store.read_workflow(flow.id).wait() is not None for flow in (ended, failed, running)]
    assert found == [False, True, True]
    world.prune(completed_after=50.0, dead_after=50.0)
    assert world.store.read_workflow(failed.id).wait() is None
    complete(world, world.claim_one(session))
    assert types(world.claim(session)) == ["second"]


def test_many_finish_at_once_and_what_follows_begins_once(
    engine: Engine, world: World, session: int, open_again: OpenAgain
) -> None:
    flow = Flow(world, ("left", 40), ("right", 40), ("join", 1, ["left", "right"]), ("end", 3, ["join"])).enqueue()
    claims = world.claim(session)
    worlds = [open_again() for _ in range(4)]
    broken: list[BaseException] = []

    def finish_some(number: int) -> None:
        try:
            for place in range(number, len(claims), len(worlds)):
                complete(worlds[number], claims[place])
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=finish_some, args=(number,)) for number in range(len(worlds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken == []
    joined = world.claim(session)
    assert types(joined) == ["join"]
    complete(world, *joined)
    assert types(world.claim(session)) == ["end"] * 3
    assert flow.state is RUNNING
