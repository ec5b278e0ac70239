"""Operations by which penstock is seen: figures that are sent, folded and sampled."""

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
    counted = world.store.count_gauges().wait()
    ended = world.store.count_ended().wait()
    world.store.store_sample(p.StoreSample(counted.at, 0.1, counted.gauges, ended, stage.term, history=True)).wait()
