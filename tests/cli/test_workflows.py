"""`penstock workflows`, and what `penstock jobs show` says of a job's family (C2)."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from penstock import App, Context, JobCall, WorkflowHandle, WorkflowState
from penstock.store.contract import ClaimJobs, ListJobs, RegisterWorker
from tests.cli.conftest import Call, Shell, run_all
from tests.cli.test_workers import rows

STORE = ("--store", "sqlite:///jobs.db")
QUICK_SECONDS = 3.0
"""Of the processor: some tenths of one are needed; when time grew with the square of the steps, 41."""


def failing(app: App) -> WorkflowHandle:
    """greet and boom side by side, then hopeless after both, which never begins."""
    flow = app.workflow("order")
    greet = flow.step([_call(app, "greet") for _ in range(3)])
    boom = flow.step(_call(app, "boom"))
    flow.step(_call(app, "hopeless", what="never"), after=[greet, boom])
    return flow.enqueue()


def _call(app: App, name: str, /, **payload: object) -> JobCall[Any]:
    return app.client.call_by_name(name, payload, {}, {})


@pytest.fixture
def failed(app: App) -> WorkflowHandle:
    handle = failing(app)
    run_all(app)
    return handle


def test_workflows_are_listed(call: Call, app: App, failed: WorkflowHandle) -> None:
    running = failing(app)
    outcome = call("workflows", "list")
    assert [(row["id"], row["name"], row["state"], row["jobs"]) for row in rows(outcome.out)] == [
        (running.id, "order", "running", "0/5"), (failed.id, "order", "failed", "4/5"),
    ]  # fmt: skip
    assert "2 workflows in" in outcome.out
    page = call("workflows", "list", "--limit", "1")
    assert f"older ones: --before {running.id}" in page.out
    following = call("workflows", "list", "--limit", "1", "--before", running.id, "--json").json
    assert ([one["id"] for one in following["workflows"]], following["next"]) == ([failed.id], None)
    assert call("workflows", "list", "--state", "completed", "--json").json["workflows"] == []
    assert (
        len(call("workflows", "list", "--state", "failed, running", "--name", "order", "--json").json["workflows"]) == 2
    )


def test_a_workflow_is_shown_as_a_tree(call: Call, failed: WorkflowHandle) -> None:
    out = call("workflows", "show", failed.id).out
    assert "order failed  ████████████████░░░░ 4/5" in out
    assert "├── greet  ████████████████████ 3/3  3 completed" in out
    assert "├── boom  1 dead" in out
    assert "└── hopeless  1 blocked  (after greet, boom)" in out
    document = call("workflows", "show", failed.id, "--json").json
    assert [(step["name"], step["jobs"], step["begun"]) for step in document["steps"]] == [
        ("greet", {"completed": 3}, True), ("boom", {"dead": 1}, True), ("hopeless", {"blocked": 1}, False),
    ]  # fmt: skip


def planned(app: App, after: dict[str, list[str]]) -> WorkflowHandle:
    """A workflow of these steps, each with those that it comes after."""
    flow = app.workflow("plan")
    for name, needed in after.items():
        flow.step(_call(app, "greet"), name=name, after=needed)
    return flow.enqueue()


def lines_of(shown: str) -> list[str]:
    """The lines of the tree, without what they say of jobs."""
    tree = shown[shown.index("plan running") :].split("\n\n")[0]
    return [re.sub(r"  1 (pending|blocked|completed)", "", line).rstrip() for line in tree.splitlines()[1:]]


def test_what_follows_alone_stands_below_and_only_forks_are_branches(call: Call, app: App) -> None:
    handle = planned(
        app,
        {"charge": [], "pack": ["charge"], "ship": ["pack"], "mail": ["ship"], "bill": ["ship"], "book": ["bill"],
         "close": ["mail", "book"], "forget": ["close"]},
    )  # fmt: skip
    expected = [
        "├── charge",
        "│   ↓ pack",
        "│   ↓ ship",
        "│   ├── mail",
        "│   └── bill",
        "│       ↓ book",
        "└── close  (after mail, book)",
        "    ↓ forget",
    ]
    assert lines_of(call("workflows", "show", handle.id).out) == expected
    run_all(app)
    assert lines_of(call("workflows", "show", handle.id).out.replace("completed  █", "running  █", 1)) == expected


def test_a_chain_that_another_step_gathers_is_still_a_chain(call: Call, app: App) -> None:
    handle = planned(app, {"a": [], "b": ["a"], "c": ["b"], "all": ["a", "b", "c"]})
    assert lines_of(call("workflows", "show", handle.id).out) == [
        "├── a", "│   ↓ b", "│   ↓ c", "└── all  (after a, b, c)",
    ]  # fmt: skip


def test_on_a_narrow_terminal_every_step_keeps_its_line(shell: Shell, app: App) -> None:
    """Also where each step but the last has two after it."""
    after = {"s0": list[str]()} | {f"{side}{number}": [f"s{number - 1}"] for number in range(1, 20) for side in "sx"}
    handle = planned(app, after)
    shown = shell.run_on_terminal("workflows", "show", handle.id, *STORE, env={"COLUMNS": "80", "NO_COLOR": "1"})
    lines = lines_of(shown.out.replace("\r", ""))
    assert len(lines) == len(after)
    assert {line.strip("│├└─ ").split()[0] for line in lines} == set(after)
    (deepest,) = [line for line in lines if "s19" in line]
    assert deepest.endswith("── s19  (after s18)")


def test_of_very_many_steps_the_first_are_shown_and_quickly(call: Call, app: App) -> None:
    handle = planned(app, {f"s{number}": [f"s{number - 1}"] if number else [] for number in range(10_000)})
    began = time.process_time()
    shown = call("workflows", "show", handle.id).out
    assert time.process_time() - began < QUICK_SECONDS
    more = f"└── … 9,800 more steps: penstock workflows show {handle.id} --limit 10000"
    assert lines_of(shown) == ["├── s0", *(f"│   ↓ s{number}" for number in range(1, 200)), more]
    assert len(lines_of(call("workflows", "show", handle.id, "--limit", "10000").out)) == 10_000
    assert len(call("workflows", "show", handle.id, "--json").json["steps"]) == 10_000


def test_a_step_after_very_many_names_the_first_of_them(call: Call, app: App) -> None:
    roots = [f"s{number}" for number in range(30)]
    handle = planned(app, {name: [] for name in roots} | {"last": roots})
    assert lines_of(call("workflows", "show", handle.id).out)[-1] == (
        "└── last  (after s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 20 more)"
    )


def test_what_compensates_a_failed_workflow_is_shown_with_it(call: Call, app: App, failed: WorkflowHandle) -> None:
    flow = app.workflow("careful", compensate=_call(app, "greet", name="sorry"))
    flow.step(_call(app, "boom"))
    handle = flow.enqueue()
    assert call("workflows", "show", handle.id, "--json").json["compensation"] is None
    run_all(app)
    for _ in range(2):  # A retry has a new one.
        told = call("workflows", "show", handle.id, "--json").json["compensation"]
        assert (told["type"], told["state"]) == ("greet", "completed")
        assert app.get(told["id"]).read().payload == {"name": "sorry"}
        assert f"\ncompensation: greet completed  {told['id']}\n" in call("workflows", "show", handle.id).out
        (boom,) = app.store.list_jobs(ListJobs(type="boom", parent=handle.id, limit=1)).wait()
        call("dead", "retry", boom.id)  # Newer than what compensates, and not to be taken for it.
        assert call("workflows", "show", handle.id, "--json").json["compensation"] == told
        handle.retry()
        assert call("workflows", "show", handle.id, "--json").json["compensation"] is None
        run_all(app)
    assert call("workflows", "show", failed.id, "--json").json["compensation"] is None
    assert "compensation" not in call("workflows", "show", failed.id).out


def test_a_job_is_shown_with_its_workflow(call: Call, failed: WorkflowHandle) -> None:
    jobs = call("jobs", "list", "--parent", failed.id, "--json").json["jobs"]
    assert sorted(job["type"] for job in jobs) == ["boom", "greet", "greet", "greet"]
    shown = call("jobs", "show", jobs[0]["id"])
    assert "workflow\norder failed" in shown.out
    assert call("jobs", "show", jobs[0]["id"], "--json").json["workflow"]["id"] == failed.id


def test_a_job_is_shown_with_what_it_enqueued(call: Call, app: App) -> None:
    @app.job
    async def parent(ctx: Context, depth: int) -> None:
        if depth:
            ctx.enqueue(parent.bind(depth - 1))
        else:
            flow = app.workflow("made")
            flow.step(_call(app, "greet"))
            ctx.enqueue(flow)

    job = parent.enqueue(2)
    run_all(app)
    out = call("jobs", "show", job.id).out
    tree = out[out.index("enqueued with its completion") :]
    lines = [line.split("0")[0].rstrip() for line in tree.splitlines()[1:5]]
    assert lines == [
        "parent completed",
        "└── parent completed",
        "    └── parent completed",
        "        └── made completed",
    ]
    document = call("jobs", "show", job.id, "--json").json
    assert [child["type"] for child in document["children"]] == ["parent"]
    assert document["workflow"] is None


def test_a_job_that_enqueued_much_says_that_there_is_more(call: Call, app: App) -> None:
    @app.job
    async def parent(ctx: Context, jobs: int, flows: int) -> None:
        for _ in range(jobs):
            ctx.enqueue(_call(app, "greet"))
        for _ in range(flows):
            flow = app.workflow("made")
            flow.step([], name="nothing")
            ctx.enqueue(flow)

    handles = [parent.enqueue(jobs, flows) for jobs, flows in ((20, 20), (21, 20), (20, 21))]
    run_all(app)
    told = [call("jobs", "show", handle.id, "--json").json for handle in handles]
    assert [(len(one["children"]), one["more_children"]) for one in told] == [(20, False), (20, True), (20, False)]
    assert [(len(one["workflows"]), one["more_workflows"]) for one in told] == [(20, False), (20, False), (20, True)]
    shown = [call("jobs", "show", handle.id).out for handle in handles]
    assert ["… more: " in one for one in shown] == [False, True, True]
    assert f"… more: penstock jobs list --parent {handles[1].id}" in shown[1]
    assert f"… more: penstock workflows list --parent {handles[2].id}" in shown[2]
    listed = call("workflows", "list", "--parent", handles[2].id, "--limit", "100", "--json").json["workflows"]
    assert len(listed) == 21


def test_a_workflow_is_cancelled_and_retried(call: Call, app: App) -> None:
    handle = failing(app)
    outcome = call("workflows", "cancel", handle.id)
    assert (outcome.code, "4 jobs cancelled; the workflow is cancelled" in outcome.out) == (0, True)
    again = call("workflows", "cancel", handle.id)
    assert (again.code, "is cancelled already: there is nothing to cancel" in again.err) == (1, True)
    assert call("workflows", "retry", handle.id).out.startswith("5 jobs to run; follow it: penstock workflows show")
    assert handle.state() is WorkflowState.RUNNING
    assert call("workflows", "retry", handle.id).err.strip().endswith("cancel it first")
    assert call("workflows", "cancel", handle.id, "--json").json == {
        "id": handle.id, "before": "running", "after": "cancelled", "jobs": 4,
    }  # fmt: skip
    assert call("workflows", "retry", handle.id, "--json").json == {"id": handle.id, "jobs": 5}
    with app.transaction() as tx:
        audited = tx.execute(
            "SELECT action, detail ->> 'id' FROM penstock_audit WHERE action LIKE '%workflow' ORDER BY entry"
        )
    assert audited == [("cancel workflow", handle.id), ("retry workflow", handle.id)] * 2


def test_one_that_is_being_cancelled_says_so(call: Call, app: App) -> None:
    handle = failing(app)
    register = RegisterWorker(worker_id="busy", host="host", pid=1, version="1", slots=4, stale_after=60.0)
    session = app.store.register_worker(register).wait().session
    assert app.store.claim_jobs(ClaimJobs(session, 1, ("greet",))).wait().jobs
    handle.cancel()
    assert "order running, begins no more steps and will be cancelled  " in call("workflows", "show", handle.id).out
    assert call("workflows", "show", handle.id, "--json").json["stopping"] == "cancelled"


@pytest.mark.parametrize("words", [["dead", "retry"], ["jobs", "retry"]])
def test_a_retry_outside_of_its_workflow_says_so(
    call: Call, app: App, failed: WorkflowHandle, words: list[str]
) -> None:
    (boom,) = app.store.list_jobs(ListJobs(type="boom")).wait()
    outcome = call(*words, boom.id)
    assert (outcome.code, f"penstock workflows retry {failed.id}" in outcome.err) == (0, True)
    assert failed.retry() == 2


def test_a_retry_of_a_job_of_no_workflow_says_nothing_of_one(call: Call, app: App) -> None:
    boom = app.enqueue("boom")
    run_all(app)
    outcome = call("dead", "retry", boom.id)
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["list", "--state", "lost"], "use one of: running, completed, failed, cancelled"),
        (["show", "0198c0de-0000-8000-8000-000000000000"], "no workflow has the id"),
        (["show", "nope"], "'nope' is not the id of a workflow: those look like 0198c0de-0000-8000-8000-000000000000"),
        (["show", "nope"], "to find it: penstock workflows list"),
        (["cancel", "nope"], "to find it: penstock workflows list"),
        (["retry", "nope"], "to find it: penstock workflows list"),
        (["list", "--before", "nope"], "is not the id of a workflow"),
        (["cancel", "0198c0de-0000-8000-8000-000000000000"], "no workflow has the id"),
        (["retry", "0198c0de-0000-8000-8000-000000000000"], "no workflow has the id"),
    ],
)
def test_mistakes_are_named(call: Call, app: App, words: list[str], problem: str) -> None:
    app.store.migrate()
    outcome = call("workflows", *words)
    assert (outcome.code != 0, problem in outcome.err) == (True, True)


@pytest.mark.parametrize("command", ["show", "cancel", "retry"])
def test_who_mistakes_a_job_for_a_workflow_is_sent_there_and_back(
    call: Call, failed: WorkflowHandle, app: App, command: str
) -> None:
    job = app.enqueue("greet", {})
    outcome = call("workflows", command, job.id)
    assert (outcome.code, f"if it is that of a job: penstock jobs show {job.id}" in outcome.err) == (1, True)
    outcome = call("jobs", command, failed.id.upper())
    assert (outcome.code, f"that of a workflow: penstock workflows show {failed.id}" in outcome.err) == (1, True)
