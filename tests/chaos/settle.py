"""The end of every run: heal, drain, stop, and hold what happened against what was promised."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from penstock.domain.clock import MICROSECONDS
from penstock.store.contract import CheckStore
from tests.chaos.actors import Broken
from tests.chaos.counted import check_counted
from tests.chaos.figures import Figures, superseded
from tests.chaos.flows import check_flows
from tests.chaos.forget import forget, forget_stored
from tests.chaos.stage import Stage
from tests.chaos.taken_back import Gap, check_refused, fired_again, taken_back
from tests.chaos.truth import Truth, check_plans, lost, read_truth
from tests.checker import truth as checker_truth
from tests.checker.check import must_hold
from tests.checker.events import Event, read_folder
from tests.checker.history import History
from tests.checker.rules import ALL, Case, Rule
from tests.checker.rules.pickup import pickups


def settle(
    stage: Stage, *, removed: Collection[str] = (), gap: Gap | None = None, rules: Sequence[Rule] = ALL,
    all_counted: bool = False,
) -> Truth:  # fmt: skip
    """`removed` are jobs that the fault itself has deleted: nothing is promised of them. In a `gap` time was taken
    back, and the `rules` are those that hold all the same. `all_counted`: no worker may take figures along.
    """
    stage.heal()
    stage.drain()
    stage.stop_workers()
    truth = read_truth(stage.store, stage.place)
    events = read_folder(stage.folder)
    if gap is not None:
        check_refused(events, gap)
        removed = {*_gone(stage, taken_back(events, truth, gap), truth), *fired_again(events, gap)}
    for id in removed:
        stage.plans.pop(id, None)
    known = checker_truth.read_truth(stage.store, [row for row in truth.effects if row[0] not in removed])
    known, events = forget_stored(known, removed), forget(events, removed)
    stage.figures = _figures(stage, truth, events, known)
    must_hold(events, known, bounds=stage.bounds, rules=rules, seed=stage.seed, replay=stage.replay)
    check_plans(truth, stage.plans)
    check_flows(truth, stage.plans, stage.flows)
    _check_store(stage)
    if gap is None and not removed:
        check_counted(stage.store, truth.jobs.values(), exact=all_counted)
    return truth


def _gone(stage: Stage, ids: Collection[str], truth: Truth) -> Collection[str]:
    """With the jobs of the workflows that are gone."""
    stage.flows = [plan for plan in stage.flows if plan.id not in ids]
    parts = {plan.id for plan in stage.plans.values() if plan.of in ids}
    return {*ids, *(parts - truth.jobs.keys())}


def _figures(stage: Stage, truth: Truth, events: list[Event], known: checker_truth.Truth) -> Figures:
    refused, accepted = superseded(events)
    limited = {
        plan.id for plan in stage.plans.values() if plan.key is not None or plan.rated
    }  # Those wait for their limits too.
    found = pickups(Case(History(events), known, stage.bounds))
    waits = [one.waited_us for one in found if one.stop.op == "killed" and one.lease.id not in limited]
    return Figures(
        jobs=len(truth.jobs),
        lost=lost(truth, stage.plans),
        refused=refused,
        accepted=accepted,
        pickups=[wait / MICROSECONDS for wait in waits if wait is not None],
        bound=stage.size.bound,
    )


def _check_store(stage: Stage) -> None:
    """What the engine says of itself: nothing is out of place in the tables, and the file is sound."""
    for finding in stage.store.check_store(CheckStore(deep=True)).wait():
        if finding.level == "error":
            raise Broken(f"the store is not sound: {finding.name}: {finding.message}")
    damage = stage.place.damage()
    if damage is not None:
        raise Broken(f"the file is damaged: {damage}")
