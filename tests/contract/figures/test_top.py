"""A look for `penstock top`, at every engine."""

from __future__ import annotations

from penstock.domain.figures.series import Count, Figures, Route, Tally, TenantFigures
from penstock.observe.top.floods import floods
from penstock.observe.top.look import look
from penstock.observe.top.rows import rows_by
from penstock.observe.top.work import works
from penstock.store import contract as p
from tests.contract.world import World

MAIL = Route("send", "mail", "general")
IMPORT = Route("import", "mail", "general")
SECOND = 1_000_000


def test_a_look_has_figures_sample_and_workers(world: World, session: int) -> None:
    figures = Figures({Count.COMPLETED: 30}, 15.0, {3: 30}, {5: 30})
    page = p.Page("a", 1, Tally({MAIL: figures}, {"acme": TenantFigures(30, 0, 15.0)}))
    world.store.heartbeat_worker(p.HeartbeatWorker(session, page=page)).wait()
    due = world.clock.now_us() - 90 * SECOND
    gauges = [
        p.Gauge(route=MAIL, depth=p.Depth(pending=2, ready=2), oldest_due_at=due),
        p.Gauge(route=IMPORT, depth=p.Depth(pending=900, ready=900), oldest_due_at=due),
    ]
    world.store.store_sample(p.StoreSample(world.clock.now_us(), 0.001, gauges)).wait()
    world.clock.advance(3)
    seen = look(world.store)
    assert 60 <= seen.seconds < 120
    assert (seen.sample_age, seen.uncounted) == (3, False)
    found = {row.name: row for row in works(seen, "type")}
    assert (found["send"].pending, found["send"].oldest_seconds) == (2, 93)
    assert round(found["send"].completed_per_second * seen.seconds) == 30
    assert [row.name for row in rows_by(seen, "tenant")] == ["acme"]
    assert len(rows_by(seen, "worker")) == 1
    assert [flood.type for flood in floods(seen)] == ["import"]


def test_what_happened_two_minutes_ago_is_not_in_it(world: World, session: int) -> None:
    page = p.Page("a", 1, Tally({MAIL: Figures({Count.COMPLETED: 30})}))
    world.store.heartbeat_worker(p.HeartbeatWorker(session, page=page)).wait()
    world.clock.advance(120)
    assert look(world.store).page.rows == []
    assert look(world.store).sample is None
