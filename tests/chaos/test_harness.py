"""The harness itself: the same seed gives the same run, and what is broken is found and told."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from penstock.domain.job import Job, State
from penstock.domain.workflows import WorkflowInfo, WorkflowState
from tests.chaos import __main__ as chaos
from tests.chaos.actors import Broken
from tests.chaos.catalogue import Fault
from tests.chaos.figures import Figures, superseded
from tests.chaos.flows import check_flows
from tests.chaos.forget import forget
from tests.chaos.load import (
    FAIL_SHARE,
    POISON_SHARE,
    Plan,
    dealt,
    jobs_of,
    new_id,
    read_plans,
    standard_load,
    write_plans,
)
from tests.chaos.paper import verdict
from tests.chaos.program.crashes import CRASHED, Points
from tests.chaos.program.role import Crash
from tests.chaos.run import Outcome, run_fault
from tests.chaos.servers import new_server
from tests.chaos.settle import settle
from tests.chaos.sizes import SHORT, Size
from tests.chaos.stage import Stage
from tests.chaos.truth import Truth
from tests.checker.events import (
    ClaimTold,
    EnqueueAsked,
    EnqueueTold,
    Event,
    FinishAsked,
    JobAsked,
    JobClaimed,
    LostTold,
    ScheduleAsked,
    ScheduleChanged,
    Success,
)

TINY = Size("tiny", jobs=12, seconds=0.2, lease=1.2, recovery=0.25, lead=0.75, rounds=1, workers=1)

# The load


def test_a_seed_gives_the_same_load_again() -> None:
    assert standard_load(Random("7/kill"), 500) == standard_load(Random("7/kill"), 500)
    assert standard_load(Random("7/kill"), 500) != standard_load(Random("8/kill"), 500)


def test_the_load_has_the_shares_that_it_should() -> None:
    plans = list(jobs_of(standard_load(Random(1), 5000)))
    assert len({plan.id for plan in plans}) == len(plans) == 5000
    failing = sum(plan.type in ("shaky", "broken") for plan in plans)
    poison = sum(plan.payload.get("ms") == "soon" for plan in plans)
    assert abs(failing / 5000 - FAIL_SHARE) < 0.02
    assert abs(poison / 5000 - POISON_SHARE) < 0.01


def test_what_goes_together_is_dealt_to_one_client(tmp_path: Path) -> None:
    plans = standard_load(Random(1), 200)
    hands = dealt(plans, 2)
    assert len(list(jobs_of(hands[0]))) + len(list(jobs_of(hands[1]))) == 200
    assert not {plan.parcel for plan in hands[0]} & {plan.parcel for plan in hands[1]}
    write_plans(tmp_path / "plans", hands[0])
    assert list(read_plans(str(tmp_path / "plans"))) == hands[0]


def test_every_kind_of_workflow_is_in_the_load_and_none_splits_what_goes_together() -> None:
    plans = standard_load(Random(1), 500)
    flows = [plan for plan in plans if plan.flow is not None]
    assert len(flows) == 16
    assert {plan.type for plan in flows} == {"workflow", "maker"}
    assert {plan.flow.ending for plan in flows if plan.flow} == {"completed", "failed"}
    parcels = [parcel for parcel, _ in groupby(plans, key=lambda plan: plan.parcel)]
    assert len(parcels) == len(set(parcels))


# Crash points


def test_a_process_dies_at_its_point_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int | str] = []
    monkeypatch.setattr("os._exit", told.append)
    points = Points(Crash("after claim", nth=2), last_word=lambda: told.append("last word"))
    for point in ("after claim", "before claim", "before claim"):
        points.passed(point)
    assert told == []
    points.passed("after claim")
    assert told == ["last word", CRASHED]


# Figures


def claimed(at: int, process: str, token: int) -> Event:
    return ClaimTold(at=at, process=process, op="claim", phase="ok", call=at, jobs=(JobClaimed("a", token, 1),))


def finished(at: int, process: str, token: int, lost: tuple[int, ...]) -> list[Event]:
    asked = FinishAsked(at=at, process=process, op="finish", phase="invoke", call=at, completed=(Success("a", token),))
    return [asked, LostTold(at=at + 1, process=process, op="finish", phase="ok", call=at, lost=lost)]


def test_late_writes_are_counted_by_what_the_store_made_of_them() -> None:
    story = [claimed(1, "one", 1), claimed(2, "two", 2)]
    assert superseded([*story, *finished(3, "one", 1, (1,))]) == (1, 0)
    assert superseded([*story, *finished(3, "one", 1, ())]) == (0, 1)
    assert superseded([*story, *finished(3, "two", 2, ())]) == (0, 0)


def test_pickups_by_share() -> None:
    figures = Figures(pickups=[float(number) for number in range(100, 0, -1)])
    assert (figures.pickup(0.5), figures.pickup(0.99)) == (51.0, 100.0)
    assert Figures().pickup(0.5) is None


def test_a_deleted_job_is_forgotten_whole() -> None:
    asked = EnqueueAsked(
        at=1, process="c", op="enqueue", phase="invoke", call=1, jobs=(JobAsked(id="a"), JobAsked(id="b"))
    )
    told = EnqueueTold(at=2, process="c", op="enqueue", phase="ok", call=1, created=(True, False), ids=("a", "b"))
    ticks = (ScheduleChanged("s", (JobAsked(id="a"), JobAsked(id="b"))), ScheduleChanged("t", (JobAsked(id="a"),)))
    fired = ScheduleAsked(at=5, process="w", op="schedule", phase="invoke", call=2, changes=ticks, term=1)
    left = forget([asked, told, claimed(3, "w", 1), *finished(4, "w", 1, ()), fired], {"a"})
    assert left[0] == replace(asked, jobs=(JobAsked(id="b"),))
    assert left[1] == replace(told, created=(False,), ids=("b",))
    assert left[2] == replace(claimed(3, "w", 1), jobs=())
    assert left[3] == replace(finished(4, "w", 1, ())[0], completed=())
    assert left[-1] == replace(fired, changes=(ScheduleChanged("s", (JobAsked(id="b"),)), ScheduleChanged("t")))


def test_the_verdict_counts_what_matters() -> None:
    fault = Fault("f", 1, lambda stage: None, ("sqlite",), (), ())
    good = Outcome(fault, "sqlite", 1, Figures(jobs=10), 1.0, None)
    bad = Outcome(fault, "sqlite", 1, Figures(jobs=10, lost=1), 1.0, "lost")
    assert verdict([good, good], 2).startswith("2 runs, every promise kept; 20 jobs, 0 lost")
    assert verdict([good, bad], 2).startswith("1 of 2 runs BROKEN; 20 jobs, 1 lost")
    assert verdict([good, bad], 9).startswith("interrupted: 2 of 9 runs done, 1 of them BROKEN; 20 jobs, 1 lost")
    assert "kept" not in verdict([], 9)


# What is broken is told


def run(fault: Fault, folder: Path) -> Outcome:
    with new_server() as server:
        return run_fault(fault, "sqlite", TINY, 42, folder, server)


def broken_by(harm: str, folder: Path) -> str:
    """The problem that is told after an ordinary run whose store was tampered with."""

    def tampered(stage: Stage) -> None:
        """Somebody changes the store behind everybody's back."""
        stage.begin()
        stage.drain()
        with stage.store.transaction() as tx:
            tx.execute(harm)
        settle(stage)

    problem = run(Fault("tampered", 1, tampered, ("sqlite",), (), ()), folder).problem
    assert problem is not None
    assert "make chaos SEED=42 FAULT=tampered ENGINE=sqlite" in problem
    assert "the end of its log" in problem
    return problem


def test_a_lost_job_is_found(tmp_path: Path) -> None:
    harm = """
    DELETE FROM penstock_job WHERE seq = (SELECT min(seq) FROM penstock_job);
    DELETE FROM penstock_outcome WHERE seq NOT IN (SELECT seq FROM penstock_job)
    """
    assert "was acknowledged and is not in the store" in broken_by(harm, tmp_path)


def test_an_effect_that_happened_twice_is_found(tmp_path: Path) -> None:
    harm = """
    INSERT INTO effects SELECT job, token FROM effects WHERE job IN (
        SELECT id FROM penstock_job JOIN penstock_lane USING (lane) WHERE type LIKE 'exact%')
    """
    assert "its effect has happened 2 times" in broken_by(harm, tmp_path)


def test_an_order_without_its_job_is_found(tmp_path: Path) -> None:
    assert "only one of them is stored" in broken_by("DELETE FROM orders", tmp_path)


def test_a_worker_that_ends_by_itself_is_found(tmp_path: Path) -> None:
    def stop_behind_its_back(stage: Stage) -> None:
        """A worker that nobody has killed is gone."""
        stage.begin()
        stage.workers[1]._process.kill()
        stage.drain()

    problem = run(Fault("gone", 1, stop_behind_its_back, ("sqlite",), (), ()), tmp_path).problem
    assert problem is not None
    assert "worker-1 ended by itself, with code -9" in problem


def test_a_worker_that_was_asked_to_stop_has_a_successor_when_all_is_healed(tmp_path: Path) -> None:
    def stopping(stage: Stage) -> None:
        """The harm is over while a worker is about to end."""
        stage.begin()
        asked = stage.workers[1]
        asked.wait_started()
        asked.ending = True
        asked.send(signal.SIGTERM)
        stage.heal()
        assert not asked.lives
        assert stage.workers[1].lives
        settle(stage)

    assert run(Fault("stopping", 1, stopping, ("sqlite",), (), ()), tmp_path).problem is None


def test_a_plan_that_ends_otherwise_is_found(tmp_path: Path) -> None:
    def wrongly_planned(stage: Stage) -> None:
        """A job that completes was expected to die."""
        stage.begin([Plan(id=new_id(stage.dice), type="plain", payload={"ms": 5}, ending="dead")])
        with pytest.raises(Broken, match="is completed, not dead"):
            settle(stage)

    assert run(Fault("planned", 1, wrongly_planned, ("sqlite",), (), ()), tmp_path).problem is None
    assert SHORT.bound > SHORT.lease


# Workflows


def told(plan: Plan, **states: str) -> Truth:
    """The store after a run in which the jobs of this workflow ended as planned, but for those that are named."""
    assert plan.flow is not None
    now = datetime.now(UTC)
    endings = {part.id: states.get(part.id, part.ending) for part in plan.flow.jobs}
    jobs = {
        id: Job(
            id=id, type="plain", queue="default", capability="default", state=State(ending), payload=None, priority=0,
            attempt=1, max_attempts=50, crashes=0, created_at=now, due_at=now, parent=plan.id,
        )
        for id, ending in endings.items()
        if ending != "never"
    }  # fmt: skip
    flow = WorkflowInfo(
        id=plan.id, name="flow", state=WorkflowState(states.get("flow", plan.flow.ending)), created_at=now
    )
    return Truth(jobs, [], {plan.id} if plan.ordered else set(), [flow])


def failing_workflow() -> Plan:
    plans = standard_load(Random(1), 500)
    return next(plan for plan in plans if plan.flow is not None and plan.flow.ending == "failed")


def test_a_workflow_that_ended_as_planned_is_sound() -> None:
    plan = failing_workflow()
    assert plan.flow is not None
    assert sorted(part.ending for part in plan.flow.jobs) == ["completed", "completed", "completed", "dead", "never"]
    check_flows(told(plan), {part.id: part for part in plan.flow.jobs}, [plan])


@pytest.mark.parametrize(
    ("ending", "instead", "problem"),
    [
        ("never", "completed", "which is completed, not never"),
        ("completed", "never", "which is never, not completed"),
        ("dead", "completed", "which is completed, not dead"),
    ],
)
def test_a_workflow_that_did_not_end_as_planned_is_told(ending: str, instead: str, problem: str) -> None:
    plan = failing_workflow()
    assert plan.flow is not None
    part = next(part for part in plan.flow.jobs if part.ending == ending)
    with pytest.raises(Broken, match=problem):
        check_flows(told(plan, **{part.id: instead}), {part.id: part for part in plan.flow.jobs}, [plan])


def test_a_workflow_that_is_gone_or_in_another_state_is_told() -> None:
    plan = failing_workflow()
    assert plan.flow is not None
    plans = {part.id: part for part in plan.flow.jobs}
    with pytest.raises(Broken, match="is running, not failed"):
        check_flows(told(plan, flow="running"), plans, [plan])
    gone = told(plan)
    gone.workflows.clear()
    with pytest.raises(Broken, match="0 workflows of it are stored"):
        check_flows(gone, plans, [plan])


def test_a_workflow_that_the_fault_has_disturbed_must_only_end() -> None:
    plan = failing_workflow()
    assert plan.flow is not None
    first, *others = plan.flow.jobs
    plans = {part.id: part for part in others}
    check_flows(told(plan, flow="completed"), plans, [plan])
    with pytest.raises(Broken, match="never came to an end"):
        check_flows(told(plan, flow="running"), plans, [plan])
    with pytest.raises(Broken, match="is pending"):
        check_flows(told(plan, **{first.id: "pending"}), plans, [plan])


def test_an_interrupt_shows_what_has_been_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_run(*_: object) -> Iterator[Outcome]:
        yield Outcome(Fault("f", 1, lambda stage: None, ("sqlite",), (), ()), "sqlite", 1, Figures(jobs=10), 1.0, None)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(chaos, "carried_out", one_run)
    deaf = signal.signal(signal.SIGINT, signal.SIG_IGN)  # As a shell's `&` leaves it.
    try:
        assert chaos.main(["--size", "short", "--engine", "sqlite"]) == 130
    finally:
        signal.signal(signal.SIGINT, deaf)
    shown = capsys.readouterr().out
    assert "interrupted after 1 of" in shown
    assert "runs done, 0 of them BROKEN; 10 jobs, 0 lost" in shown
    assert "every promise kept" not in shown


@pytest.mark.parametrize("engine", ["", "sqlite"])
def test_a_fault_that_there_is_not_is_told_with_those_that_there_are(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chaos.main(["--fault", "nosuch", *(["--engine", engine] if engine else [])]) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert f"no fault is called 'nosuch'{' on sqlite' if engine else ''}; there are: " in told
    assert ("postgres-crash" in told) is not bool(engine)
