"""No rule complains about what a real store really does, however its answers get lost and its callers overlap."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from tests.checker.check import check, must_hold
from tests.checker.events import Event, LeadTold
from tests.checker.flow_walk import FlowWalk
from tests.checker.history import History
from tests.checker.rules import Bounds, Case
from tests.checker.truth import Truth, read_truth
from tests.checker.walk import Walk
from tests.contract.clock import FakeClock
from tests.contract.engines import ENGINES, Engine

STEPS = 150
SEEDS = range(8)
BLUR_US = 20
SQLITE = ENGINES[0]
WALKS = [
    pytest.param(engine, seed, id=f"{engine.name}-{seed}")
    for engine in ENGINES
    for seed in (SEEDS if engine is SQLITE else SEEDS[:2])
]


def walked(engine: Engine, folder: Path, seed: int, kind: type[Walk] = Walk) -> tuple[list[Event], Truth]:
    clock = FakeClock()
    address = engine.address(folder)
    store = engine.open(address, clock)
    try:
        walk = kind(store, clock, seed)
        walk.run(STEPS)
        return walk.world.history, read_truth(store)
    finally:
        store.close()
        engine.drop(address)


def blurred(events: list[Event], dice: Random) -> list[Event]:
    """The same calls, as if each had been on its way for longer: many overlap now."""
    moved: list[Event] = []
    for event in events:
        early = event.phase == "invoke"
        moment = event.at - dice.randint(0, BLUR_US) if early else event.at + dice.randint(0, BLUR_US)
        if isinstance(event, LeadTold) and event.until is not None:
            moved.append(replace(event, at=moment, until=event.until - BLUR_US))
        else:
            moved.append(replace(event, at=moment))
    return moved


@pytest.mark.parametrize(("engine", "seed"), WALKS)
def test_a_real_store_keeps_its_promises(engine: Engine, tmp_path: Path, seed: int) -> None:
    events, truth = walked(engine, tmp_path, seed)
    replay = f"pytest tests/checker/test_walk.py -k 'promises and {engine.name}-{seed}'"
    must_hold(events, truth, seed=seed, replay=replay)
    must_hold(blurred(events, Random(seed)), truth, seed=f"{seed}, blurred", replay=replay)


def test_the_walks_go_everywhere(tmp_path: Path) -> None:
    """Otherwise they would prove little."""
    seen: set[tuple[str, str]] = set()
    for seed in SEEDS[:6]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        events, truth = walked(SQLITE, folder, seed)
        seen |= {(event.op, event.phase) for event in events}
        seen |= {("state", job.state) for job in truth.jobs} | {
            ("step", step.event) for job in truth.jobs for step in job.history
        }
        writes = History(events).of("start", "finish")
        seen |= {("lost", write.op) for write in writes if write.ok and write.told.lost}
    for op in ("enqueue", "claim", "start", "finish", "recover", "give_back", "cancel", "retry_dead", "lead"):
        assert (op, "ok") in seen
    assert {(op, "unknown") for op in ("enqueue", "claim", "finish", "recover")} <= seen
    assert {("enqueue", "fail"), ("duty", "ok"), ("duty", "fail")} <= seen
    for state in ("completed", "dead", "cancelled", "expired"):
        assert ("state", state) in seen
    for step in ("recover", "give_back", "release", "snooze", "back_off"):
        assert ("step", step) in seen
    assert ("lost", "finish") in seen


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_job_that_is_taken_out_of_the_truth_is_missed(tmp_path: Path, seed: int) -> None:
    events, truth = walked(SQLITE, tmp_path, seed)
    lives = Case(History(events), truth, Bounds()).evidence.lives
    sure = [job for job in truth.jobs if (life := lives[job.id]).certain and not life.removable]
    assert len(sure) > 5
    for job in sure:
        rest = tuple(other for other in truth.jobs if other is not job)
        found = check(events, Truth(jobs=rest, counts={**truth.counts, job.state: truth.counts[job.state] - 1}))
        assert found is not None, job


@pytest.mark.parametrize(("engine", "seed"), WALKS[::2])
def test_workflows_of_any_shape_keep_their_promises(engine: Engine, tmp_path: Path, seed: int) -> None:
    events, truth = walked(engine, tmp_path, seed, FlowWalk)
    replay = f"pytest tests/checker/test_walk.py -k 'shape and {engine.name}-{seed}'"
    must_hold(events, truth, seed=seed, replay=replay)
    must_hold(blurred(events, Random(seed)), truth, seed=seed, replay=replay)


def test_the_walks_with_workflows_go_everywhere(tmp_path: Path) -> None:
    seen: set[tuple[str, str]] = set()
    for seed in SEEDS[:4]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        events, truth = walked(SQLITE, folder, seed, FlowWalk)
        found = Case(History(events), truth, Bounds()).evidence.workflows.values()
        seen |= {(event.op, event.phase) for event in events} | {("state", flow.state) for flow in truth.workflows}
        seen |= {("retried", str(len(flow.generations) - 1)) for flow in found}
        seen |= {("settled", str(one.told.jobs > 0)) for one in History(events).of("settle") if one.ok}
    for op in ("enqueue_workflow", "cancel_workflow", "retry_workflow", "settle"):
        assert (op, "ok") in seen
    for state in ("completed", "failed", "cancelled"):
        assert ("state", state) in seen
    assert {("enqueue_workflow", "unknown"), ("retried", "1"), ("settled", "True")} <= seen
