"""Operations by which penstock is seen: figures that are sent, folded and sampled; alerts and silences."""

from __future__ import annotations

from penstock.domain.errors import NotLeader
from penstock.domain.figures.series import Count, Figures, Route, Tally
from penstock.store import contract as p
from tests.contract.world import World
from tests.nets.registry import forget, operation
from tests.nets.stage import Stage

COUNTED = Tally({Route("task", "default", "general"): Figures({Count.COMPLETED: 1}, 1.0, {5: 1})})


@operation("heartbeat with figures", prepare=forget)
def heartbeat_with_figures(world: World, stage: Stage) -> bool:
    """The same page whenever it is sent."""
    return world.store.heartbeat_worker(p.HeartbeatWorker(stage.one, page=p.Page("book", 1, COUNTED))).wait().known


def have_counted(world: World, stage: Stage) -> None:
    """Some of which is in the rows already."""
    heartbeat_with_figures(world, stage)
    forget(world, stage)


@operation("fold figures", NotLeader, prepare=have_counted)
def fold(world: World, stage: Stage) -> int:
    return world.store.fold_figures(p.FoldFigures(stage.term)).wait()


@operation("store a sample", NotLeader)
def sample(world: World, stage: Stage) -> None:
    """What it says was counted before, by another operation."""
    gauge = p.Gauge(route=Route("task", "default", "general"), depth=p.Depth(pending=3, ready=2, running=1), workers=1)
    at, ended = world.clock.now_us(), p.Ended(completed=1, dead=2)
    world.store.store_sample(p.StoreSample(at, 0.1, [gauge], ended, stage.term, history=True)).wait()


def alert(scope: str, key: str) -> p.AlertRow:
    return p.AlertRow(
        rule="final_failure", scope=scope, state="firing", severity="warning", key=key, since=1, title="t", message="m"
    )


def have_an_alert(world: World, stage: Stage) -> None:
    world.store.change_alerts(p.ChangeAlerts([p.AlertChange(alert("known", "first"), None)])).wait()


@operation("change alerts", NotLeader, prepare=have_an_alert)
def change_alerts(world: World, stage: Stage) -> list[tuple[str, str]]:
    """One that is known, and one that is new."""
    changes = [p.AlertChange(alert("new", "new"), None), p.AlertChange(alert("known", "next"), 1)]
    return world.store.change_alerts(p.ChangeAlerts(changes, stage.term)).wait()


@operation("change alerts without leading", prepare=have_an_alert)
def change_alerts_unled(world: World, stage: Stage) -> list[tuple[str, str]]:
    changes = [p.AlertChange(alert("known", "other"), 1), p.AlertChange(alert("new", "other"), None)]
    return world.store.change_alerts(p.ChangeAlerts(changes)).wait()


@operation("silence alerts")
def silence_alerts(world: World, stage: Stage) -> None:
    world.store.silence_alerts(p.SilenceAlerts(rule="final_failure", seconds=60.0)).wait()
