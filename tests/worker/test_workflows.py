"""Workflows as users write them: what handlers see of the steps before, how they fail, and what is refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import (
    App,
    ConfigError,
    Context,
    Failed,
    Fixed,
    ResultGone,
    ResultTimeout,
    State,
    Tenant,
    Unique,
    UnknownWorkflow,
    UsageError,
    Workflow,
    WorkflowHandle,
    WorkflowState,
)
from penstock.domain import workflows as domain
from penstock.store.contract import ListJobs, ListWorkflows
from penstock.worker.running import step_results
from tests.worker import process_jobs
from tests.worker.running import beside_worker, burst

COMPLETED, FAILED = WorkflowState.COMPLETED, WorkflowState.FAILED


@dataclass
class Reading:
    at: datetime
    value: int


@pytest.fixture
def declared(app: App) -> App:
    @app.job
    async def square(number: int) -> int:
        return number * number

    @app.job
    async def total(ctx: Context, step: str = "square") -> int:
        return sum(await ctx.aresults(step))

    @app.job(attempts=1)
    async def gathers(ctx: Context, step: str) -> list[str]:
        found = await ctx.aresults(step)
        items = found if isinstance(found, list) else [found]
        return [str(item.error) if isinstance(item, Failed) else repr(item) for item in items]

    @app.job(attempts=1)
    def gathers_plainly(ctx: Context, step: str) -> Any:
        return ctx.results(step)

    @app.job(attempts=1)
    async def broken() -> None:
        raise ValueError("broken by nature")

    @app.job
    async def undo(what: str) -> str:
        return what

    return app


def call(app: App, name: str, **payload: Any) -> Any:
    """A call of a type by its name."""
    return app.client.call_by_name(name, payload, {}, {})


def squares(flow: Workflow, app: App, count: int) -> Any:
    return flow.step([call(app, "square", number=number) for number in range(count)])


def only_job(app: App, name: str) -> Any:
    (job,) = app.store.list_jobs(ListJobs(type=name)).wait()
    return job


# Results


def test_a_fan_in_gets_the_results_in_the_order_of_the_calls(declared: App) -> None:
    flow = declared.workflow("squares")
    many = squares(flow, declared, 50)
    flow.step([call(declared, "total"), call(declared, "total", step="square")], after=many)
    handle = flow.enqueue()
    burst(declared)
    assert (handle.created, handle.state()) == (True, COMPLETED)
    found = [job.result for job in declared.store.list_jobs(ListJobs(type="total")).wait()]
    assert found == [sum(number * number for number in range(50))] * 2


def test_a_plain_handler_gets_one_result_or_a_list(declared: App) -> None:
    flow = declared.workflow("one")
    given: dict[str, Any] = {
        "one": call(declared, "square", number=2),
        "list of one": [call(declared, "square", number=3)],
        "list of none": [],
    }
    for number, jobs in enumerate(given.values()):
        before = flow.step(jobs, name=f"before{number}")
        flow.step(call(declared, "gathers_plainly", step=before.name), name=f"after{number}", after=before)
    flow.enqueue()
    burst(declared)
    jobs = declared.store.list_jobs(ListJobs(type="gathers_plainly")).wait()
    assert {job.payload["step"]: job.result for job in jobs} == {"before0": 4, "before1": [9], "before2": []}


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_results_have_the_types_that_their_handlers_return(app: App, kind: str) -> None:
    @app.job
    async def measure(at: datetime) -> Reading:
        return Reading(at, 7)

    seen: list[Any] = []
    if kind == "async":

        @app.job(name="look")
        async def look(ctx: Context) -> None:
            seen.append(await ctx.aresults("measure"))

    else:

        @app.job(name="look")
        def look_plainly(ctx: Context) -> None:
            seen.append(ctx.results("measure"))

    now = datetime(2030, 1, 31, 12, tzinfo=UTC)
    flow = app.workflow("typed")
    flow.step(call(app, "look"), after=flow.step(measure.bind(now)))
    flow.enqueue()
    burst(app)
    assert seen == [Reading(now, 7)]


def test_in_place_of_a_job_that_failed_stands_failed(declared: App) -> None:
    flow = declared.workflow("half", on_failure="continue")
    mixed = flow.step([call(declared, "square", number=3), call(declared, "broken")], name="mixed")
    flow.step(call(declared, "gathers", step="mixed"), after=mixed)
    handle = flow.enqueue()
    burst(declared)
    assert handle.state() is COMPLETED
    nine, failed = only_job(declared, "gathers").result
    assert nine == "9"
    assert failed == f"job {only_job(declared, 'broken').id} (broken) of step 'mixed' is dead"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("nothing", "has no step 'nothing'; its steps are: square, gathers, later"),
        ("later", "1 of its 1 jobs have not"),
    ],
)
def test_results_that_are_not_there_are_named(declared: App, step: str, problem: str) -> None:
    flow = declared.workflow("early")
    many = squares(flow, declared, 2)
    flow.step(call(declared, "gathers", step=step), after=many)
    flow.step(call(declared, "undo", what=""), name="later", after="gathers")
    flow.enqueue()
    burst(declared)
    assert problem in only_job(declared, "gathers").error.message


def test_results_over_the_limit_name_the_fix(declared: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_results, "RESULTS_BYTES_MAX", 5)
    flow = declared.workflow("large")
    many = squares(flow, declared, 10)
    flow.step(call(declared, "gathers", step="square"), after=many)
    handle = flow.enqueue()
    burst(declared)
    job = only_job(declared, "gathers")
    assert (job.state, handle.state()) == (State.DEAD, FAILED)
    assert "return references" in job.error.message


def test_a_job_of_no_workflow_has_no_results(declared: App) -> None:
    declared.enqueue("gathers", {"step": "square"})
    burst(declared)
    assert "belongs to no workflow" in only_job(declared, "gathers").error.message


# Made by handlers


def test_a_handler_enqueues_a_workflow_with_its_completion(declared: App) -> None:
    @declared.job(attempts=2, backoff=Fixed(0))
    async def makes(ctx: Context) -> None:
        flow = declared.workflow("made")
        flow.step(call(declared, "total"), after=squares(flow, declared, 4))
        ctx.enqueue(flow)
        if ctx.attempt == 1:
            raise ValueError("not yet")

    made_by = makes.using(tenant=Tenant("acme"), tags=["nightly"]).enqueue()
    burst(declared)
    (found,) = declared.store.list_workflows(ListWorkflows()).wait()
    assert (found.name, found.state, found.parent) == ("made", COMPLETED, made_by.id)
    jobs = declared.store.list_jobs(ListJobs(parent=found.id)).wait()
    assert {(job.tenant, job.tags) for job in jobs} == {(Tenant("acme"), ("nightly",))}
    assert only_job(declared, "total").result == 14


def test_a_process_handler_enqueues_a_workflow(process_app: App) -> None:
    process_jobs.makes_a_workflow.enqueue(3)
    burst(process_app)
    (found,) = process_app.store.list_workflows(ListWorkflows()).wait()
    assert (found.name, found.state, found.ended) == ("made-apart", COMPLETED, 4)


# Failure


def test_a_failed_workflow_is_compensated(declared: App) -> None:
    flow = declared.workflow("order", compensate=call(declared, "undo", what="the order"))
    flow.step(call(declared, "undo", what="later"), name="later", after=flow.step(call(declared, "broken")))
    handle = flow.enqueue()
    burst(declared)
    assert handle.state() is FAILED
    assert [(job.result, job.parent) for job in [only_job(declared, "undo")]] == [("the order", handle.id)]


def test_one_step_may_fail_where_the_others_must_not(declared: App) -> None:
    flow = declared.workflow("mixed")
    broken = flow.step(call(declared, "broken"), on_failure="continue")
    flow.step(call(declared, "undo", what="after"), after=broken)
    handle = flow.enqueue()
    burst(declared)
    assert handle.state() is COMPLETED


def test_what_failed_is_kept_for_a_retry(declared: App) -> None:
    tries: list[int] = []

    @declared.job(attempts=1, remove_on_fail=True)
    async def second_time() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return len(tries)

    flow = declared.workflow("again")
    flow.step(call(declared, "undo", what="end"), after=flow.step(second_time.bind()))
    handle = flow.enqueue()
    burst(declared)
    assert handle.state() is FAILED
    assert handle.retry() == 2
    burst(declared)
    assert (handle.state(), len(tries)) == (COMPLETED, 2)


# Following


def test_handles_have_two_faces(declared: App) -> None:
    async def story() -> None:
        flow = declared.workflow("async")
        squares(flow, declared, 2)
        handle = await flow.aenqueue()
        ended = await handle.aended(timeout=20)
        assert (ended.state, ended.ended) == (COMPLETED, 2)
        same = await declared.aget_workflow(handle.id)
        assert await same.astate() is COMPLETED
        with pytest.raises(UsageError, match="nothing is left"):
            await same.aretry()
        assert await same.acancel() is COMPLETED
        for plain in (handle.read, handle.state, handle.ended, handle.cancel, handle.retry, flow.enqueue):
            with pytest.raises(UsageError, match="event loop"):
                plain()

    beside_worker(declared, story)


def test_waiting_has_an_end(declared: App) -> None:
    flow = declared.workflow("waits")
    squares(flow, declared, 1)
    handle = flow.enqueue()
    with pytest.raises(ResultTimeout, match=f"workflow {handle.id} did not end within 0.01 s"):
        handle.ended(timeout=0.01)
    assert handle.cancel() is WorkflowState.RUNNING
    assert handle.ended(timeout=5).state is WorkflowState.CANCELLED
    assert declared.get_workflow(handle.id).id == handle.id
    assert repr(handle) == f"<workflow {handle.id}>"


def test_a_handler_cannot_wait_for_a_workflow(declared: App) -> None:
    @declared.job(attempts=1)
    async def waits() -> None:
        flow = declared.workflow("inner")
        squares(flow, declared, 1)
        await (await flow.aenqueue()).aended(timeout=5)

    job = waits.enqueue()
    burst(declared)
    error = job.read().error
    assert error is not None
    assert "a handler cannot wait for it" in error.message


def test_ids_that_are_none_of_a_workflow(declared: App) -> None:
    job = declared.enqueue("undo", {"what": ""})
    with pytest.raises(ConfigError, match=r"not the id of a workflow.*app.get"):
        declared.get_workflow(job.id)
    unknown = domain.workflow_id(job.id)
    with pytest.raises(UnknownWorkflow, match=unknown):
        declared.get_workflow(unknown)
    with pytest.raises(ResultGone):
        WorkflowHandle(unknown, False, declared.client).read()


# What is refused, before anything is stored


def test_steps_in_a_circle_are_named(declared: App) -> None:
    flow = declared.workflow("circle")
    for name, after in (("a", "c"), ("b", "a"), ("c", "b"), ("d", "a")):
        flow.step(call(declared, "undo", what=name), name=name, after=after)
    with pytest.raises(ConfigError, match="wait for each other in a circle: 'a' after 'c' after 'b' after 'a'"):
        flow.enqueue()
    alone = declared.workflow("alone")
    alone.step(call(declared, "broken"), after="broken")
    with pytest.raises(ConfigError, match="'broken' after 'broken'"):
        alone.enqueue()


def test_mistakes_in_steps_are_named(declared: App, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = declared.workflow("wrong")
    with pytest.raises(ConfigError, match="has no steps"):
        flow.enqueue()
    step = flow.step(call(declared, "broken"))
    with pytest.raises(ConfigError, match="has a step 'broken' already; give this one another name="):
        flow.step(call(declared, "broken"))
    wrong: Any = declared
    with pytest.raises(ConfigError, match=r"calls made by bind\(\), not App"):
        flow.step(wrong if isinstance(wrong, list) else [wrong], name="wrong")
    with pytest.raises(ConfigError, match="without jobs has no name"):
        flow.step([])
    other = declared.workflow("other")
    other.step(call(declared, "undo", what=""), after=step)
    with pytest.raises(ConfigError, match="a step of another workflow, 'wrong'"):
        other.enqueue()
    unknown = declared.workflow("unknown")
    unknown.step(call(declared, "broken"), after="brokn")
    with pytest.raises(ConfigError, match=r"comes after 'brokn', which is no step.*: broken"):
        unknown.enqueue()
    policy: Any = "explode"
    with pytest.raises(ConfigError, match="on_failure='explode' does not exist; use one of: stop, continue"):
        declared.workflow("policy", on_failure=policy)
    monkeypatch.setattr("penstock.client.workflow.STEPS_MAX", 1)
    with pytest.raises(ConfigError, match="more than 1 steps"):
        flow.step(call(declared, "undo", what=""))
    assert declared.store.list_workflows(ListWorkflows()).wait() == []


@pytest.mark.parametrize("wrong", [None, 7, "job type", "options", "handle"])
def test_what_is_no_call_is_named(declared: App, wrong: Any) -> None:
    @declared.job
    async def single() -> None: ...

    given: Any = {"job type": single, "options": single.using(priority=1), "handle": single.enqueue()}.get(wrong, wrong)
    with pytest.raises(ConfigError, match=r"a step takes calls made by bind\(\), not .*: step\(job\.bind\(…\)\)"):
        declared.workflow("wrong").step(given)


@pytest.mark.parametrize("wrong", [None, 7, "job type", "call"])
def test_what_is_no_step_is_named(declared: App, wrong: Any) -> None:
    @declared.job
    async def single() -> None: ...

    given: Any = {"job type": single, "call": single.bind()}.get(wrong, wrong)
    with pytest.raises(
        ConfigError, match=r"after= takes steps of the same workflow, or their names, not .*after=first"
    ):
        declared.workflow("wrong").step(single.bind(), after=given)


def test_an_id_or_a_connection_has_no_place_in_a_workflow(declared: App) -> None:
    @declared.job
    async def single() -> None: ...

    stored = single.enqueue()
    with pytest.raises(ConfigError, match="leave id= out of the options of single"):
        declared.workflow("adopts").step(single.using(id=stored.id).bind())
    with pytest.raises(ConfigError, match="leave id= out"):
        declared.workflow("undo", compensate=single.using(id=stored.id).bind())
    with pytest.raises(ConfigError, match=r"single made by bind\(\) is stored later.*enqueue_many\(…, conn=conn\)"):
        single.using(conn=object()).bind()


def test_jobs_of_another_app_are_refused(declared: App) -> None:
    other = App("sqlite:///nowhere.db")

    @other.job
    async def alien() -> None: ...

    @declared.job(attempts=1)
    async def makes(ctx: Context) -> None:
        ctx.enqueue(alien.bind())

    with pytest.raises(ConfigError, match="alien is a job of another App"):
        declared.workflow("alien").step(alien.bind())
    made = makes.enqueue()
    burst(declared)
    error = made.read().error
    assert error is not None
    assert "alien is a job of another App" in error.message


def test_waiting_takes_durations(declared: App) -> None:
    flow = declared.workflow("slow")
    flow.step(call(declared, "broken"))
    handle = flow.enqueue()
    with pytest.raises(ResultTimeout, match=r"did not end within 0\.01 s"):
        handle.ended(timeout="10ms")
    with pytest.raises(ConfigError, match="timeout='soon' is not a duration"):
        handle.ended(timeout="soon")


def test_a_unique_key_has_no_place_in_a_workflow(declared: App) -> None:
    flow = declared.workflow("unique")
    unique = declared.client.call_by_name("undo", {"what": ""}, {"unique": Unique("one")}, {})
    with pytest.raises(ConfigError, match=r"using\(unique=None\)"):
        flow.step(unique)
    with pytest.raises(ConfigError, match="unique key"):
        declared.workflow("undo", compensate=unique)


def test_what_is_not_in_a_circle_is_none() -> None:
    chain = [[], *([number] for number in range(2000))]
    assert domain.find_cycle(chain) is None
    assert domain.find_cycle([*chain, [2002], [2001]]) == [2001, 2002]


def test_a_loop_of_awaiting_is_not_blocked(declared: App) -> None:
    async def main() -> None:
        flow = declared.workflow("loop")
        squares(flow, declared, 1)
        handle = await flow.aenqueue()
        with pytest.raises(ResultTimeout):
            await handle.aended(timeout=0.01)

    asyncio.run(main())
