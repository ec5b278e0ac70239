"""Figures: every page is added once, whoever folds; every way in which an operation ends or returns a job counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.domain.errors import NotLeader
from penstock.domain.figures.series import Count, Figures, Route, Tally, TenantFigures
from penstock.domain.options import NO_RESOURCES, Tenant, Unique
from penstock.store import contract as p
from tests.contract.conftest import Hand, OpenAgain
from tests.contract.engines import Engine
from tests.contract.test_visible import WAYS
from tests.contract.world import STALE_AFTER, World, policy_text

MAIL = Route("send", "mail", "general")
OTHER = Route("resize", "images", "media")
SECONDS = 1_000_000


def page(number: int = 1, book: str = "a", route: Route = MAIL, completed: int = 1, ran: float = 0.5) -> p.Page:
    figures = Figures({Count.COMPLETED: completed, Count.STARTED: completed}, ran, {3: completed}, {5: completed})
    return p.Page(book, number, Tally({route: figures}, {"acme": TenantFigures(completed, 0, ran)}))


def send(world: World, session: int, sent: p.Page) -> bool:
    return world.store.heartbeat_worker(p.HeartbeatWorker(session, page=sent)).wait().known


def fold(world: World, limit: int = 500, term: int | None = None) -> int:
    return world.store.fold_figures(p.FoldFigures(term, limit)).wait()


def read(world: World, span: p.Span = 60, since: int = 0, **asked: Any) -> p.FigurePage:
    return world.store.read_figures(p.ReadFigures(span=span, since=since, **asked)).wait()


def counts(world: World) -> dict[str, int]:
    """All that was counted, by word."""
    found: Counter[str] = Counter()
    for row in read(world, 3600).rows:
        found.update({count.value: number for count, number in row.figures.counts.items()})
    return dict(found)


# Pages and rows


def test_a_page_is_read_before_and_after_it_was_folded(world: World, session: int) -> None:
    send(world, session, page(completed=3, ran=1.5))
    at = world.clock.now_us() - world.clock.now_us() % (60 * SECONDS)
    before = read(world)
    assert [(row.at, row.route, row.figures.counts[Count.COMPLETED]) for row in before.rows] == [(at, MAIL, 3)]
    assert [(row.org, row.figures) for row in before.tenants] == [("acme", TenantFigures(3, 0, 1.5))]
    assert fold(world) == 1
    after = read(world)
    assert (after.rows, after.tenants) == (before.rows, before.tenants)
    assert fold(world) == 0


def test_a_page_that_is_sent_again_counts_once(world: World, session: int) -> None:
    """Its answer was lost: before it is folded, after that, and after a restart of whoever folds."""
    for _ in range(2):
        send(world, session, page())
    fold(world)
    send(world, session, page())
    fold(world)
    send(world, session, page())
    assert counts(world) == {"completed": 1, "started": 1}
    assert read(world).tenants[0].figures.completed == 1


def test_a_page_that_comes_late_counts_once(world: World, session: int) -> None:
    """It was stored by a second try, and folded with the next one, before the first try arrived."""
    send(world, session, page(1))
    send(world, session, page(2))
    fold(world)
    send(world, session, page(1))
    fold(world)
    assert counts(world)["completed"] == 2


def test_the_next_page_counts_too_and_so_does_that_of_another_book(world: World, session: int) -> None:
    send(world, session, page(1))
    fold(world)
    send(world, session, page(2))
    send(world, session, page(1, book="b"))
    fold(world)
    assert counts(world) == {"completed": 3, "started": 3}


def test_the_page_of_a_worker_that_was_lost_counts(world: World, session: int) -> None:
    world.clock.advance(STALE_AFTER + 1)
    world.recover()
    assert send(world, session, page()) is False
    assert counts(world)["completed"] == 1


def test_it_counts_when_it_is_stored_and_not_when_it_was_made(world: World, session: int) -> None:
    """A worker that was frozen, or whose clock is wrong, moves nothing that is past."""
    send(world, session, page(1))
    fold(world)
    world.clock.advance(7200)
    send(world, session, page(2))
    fold(world)
    rows = read(world).rows
    assert [row.figures.counts[Count.COMPLETED] for row in rows] == [1, 1]
    assert rows[1].at - rows[0].at == 7200 * SECONDS


def test_after_the_clock_was_set_back_all_counts_stay(world: World, session: int) -> None:
    send(world, session, page(1))
    fold(world)
    world.clock.advance(-3600)
    send(world, session, page(2))
    fold(world)
    assert counts(world)["completed"] == 2


def test_rows_of_all_spans_say_the_same(world: World, session: int) -> None:
    for number in range(1, 8):
        send(world, session, page(number, completed=number))
        world.clock.advance(300)
        if number % 2:
            fold(world)
    for span in p.SPANS:
        rows = read(world, span).rows
        assert sum(row.figures.counts[Count.COMPLETED] for row in rows) == 28
        assert sum(row.figures.running[3] for row in rows) == 28
        assert sum(row.figures.ran for row in rows) == pytest.approx(3.5)
        assert all(row.at % (span * SECONDS) == 0 for row in rows)
    assert len(read(world, 60).rows) == 7
    assert len(read(world, 600).rows) < 7


def test_more_pages_than_are_folded_at_once(world: World, session: int) -> None:
    for number in range(1, 6):
        send(world, session, page(number))
    assert [fold(world, limit=2) for _ in range(3)] == [2, 2, 1]
    assert counts(world)["completed"] == 5


def test_of_a_route_or_of_a_time(world: World, session: int) -> None:
    send(world, session, page(1))
    world.clock.advance(600)
    send(world, session, page(2, route=OTHER))
    fold(world)
    send(world, session, page(3, route=OTHER))
    assert {row.route for row in read(world, type="send").rows} == {MAIL}
    assert {row.route for row in read(world, capability="media").rows} == {OTHER}
    assert read(world, queue="nothing").rows == []
    later = world.clock.now_us() - 60 * SECONDS
    assert {row.route for row in read(world, since=later).rows} == {OTHER}
    until = p.ReadFigures(span=60, since=0, until=later)
    assert {row.route for row in world.store.read_figures(until).wait().rows} == {MAIL}


def test_a_leader_of_the_past_folds_nothing(world: World, session: int) -> None:
    send(world, session, page())
    term = world.store.lead_store(p.LeadStore(session, 10.0)).wait().term
    with pytest.raises(NotLeader):
        fold(world, term=term - 1)
    with pytest.raises(NotLeader):
        store_sample(world, term=term - 1)
    assert fold(world, term=term) == 1


def test_rows_are_kept_for_as_long_as_their_span_says(world: World, session: int) -> None:
    send(world, session, page(1))
    fold(world)
    for span, seconds in sorted(p.KEPT_SECONDS.items()):
        assert read(world, span).rows != []
        world.clock.advance(seconds + span + 1)
        fold(world)
        assert read(world, span).rows == []
        assert read(world, span).tenants == []


def test_folded_pages_are_forgotten_but_the_last_of_each_book(
    world: World, session: int, engine: Engine, address: str
) -> None:
    def pages() -> list[tuple[object, ...]]:
        with world.store.transaction() as tx:
            return [tuple(row) for row in tx.execute(f"SELECT book, number FROM {engine.table(address, 'page')}")]

    for number in (1, 2, 3):
        send(world, session, page(number))
    world.cancel(world.add())
    fold(world)
    assert pages() == [("a", 3)]
    world.clock.advance(p.KEPT_SECONDS[60] + 1)
    fold(world)
    assert pages() == []


def test_a_page_that_cannot_be_read_holds_up_no_other(
    world: World, session: int, hand: Hand, caplog: pytest.LogCaptureFixture
) -> None:
    send(world, session, page(1))
    send(world, session, page(1, book="b"))
    hand("UPDATE penstock.page SET tally = 'nonsense' WHERE book = 'a'")
    assert counts(world)["completed"] == 1
    assert fold(world) == 2
    assert counts(world)["completed"] == 1
    assert "cannot be read" in caplog.text


def test_hostile_names_are_counted_as_they_are(world: World, session: int) -> None:
    route = Route("a \"b\" \\ {x} 'c'", "q\u2028", "naïve \U0001f600")
    send(world, session, page(route=route))
    before = read(world).rows
    fold(world)
    assert read(world).rows == before
    assert read(world, type=route.type).rows == before


# What operations do to jobs


@pytest.mark.parametrize("die", WAYS, ids=lambda way: way.__name__)
def test_every_way_of_dying_without_a_handler_is_counted_by_the_store(
    world: World, hand: Hand, die: Callable[[World, Hand], tuple[str, object]]
) -> None:
    die(world, hand)
    found = counts(world)
    assert found.get("dead", 0) + found.get("expired", 0) == 1
    [row] = [row for row in read(world).rows if Count.DEAD in row.figures.counts or Count.EXPIRED in row.figures.counts]
    assert row.route == MAIL
    assert [tenant.org for tenant in read(world).tenants] == ["acme"]


def test_what_a_claim_lets_expire_is_counted_once_with_its_tenants(world: World, session: int) -> None:
    """On PostgreSQL by the statement that ends them: a connection that is cut after it takes no count along."""
    world.add_many(3, type="send", queue="mail", ttl=1.0, tenant=Tenant("acme"))
    world.add(type="resize", queue="images", capability="media", ttl=1.0)
    world.clock.advance(2)
    assert world.claim(session) == []
    assert counts(world) == {"expired": 4}
    page = read(world)
    assert {row.route: row.figures.counts for row in page.rows} == {
        MAIL: {Count.EXPIRED: 3}, OTHER: {Count.EXPIRED: 1},
    }  # fmt: skip
    assert [(row.org, row.figures.failed) for row in page.tenants] == [("acme", 3)]
    fold(world)
    assert counts(world) == {"expired": 4}


def test_what_a_recovery_gives_back_is_counted(world: World) -> None:
    world.add_many(2, policy=policy_text(attempts=3))
    world.claim(world.register())
    world.clock.advance(STALE_AFTER + 1)
    world.recover()
    assert counts(world) == {"recovered": 2, "retried": 2}


def test_what_is_given_back_since_it_did_not_begin_is_counted(world: World, session: int) -> None:
    world.add()
    world.claim(session)
    world.clock.advance(300)
    world.heartbeat(session)
    world.store.give_back_jobs(p.GiveBackJobs(300.0)).wait()
    assert counts(world) == {"start_timeout": 1}


def test_cancelled_jobs_are_counted_where_they_end(world: World, session: int) -> None:
    """A waiting one by the operation; a running one by its worker, which is told that it has ended so."""
    waiting, running = world.add(), world.add(priority=1)
    claim = world.claim_one(session)
    assert claim.id == running
    world.cancel(waiting)
    world.cancel(running)
    assert counts(world) == {"cancelled": 1}
    assert world.store.finish_jobs(p.FinishJobs([p.Completed(claim.token, 1)])).wait().cancelled == [claim.token]
    assert counts(world) == {"cancelled": 1}


def test_what_expires_because_its_key_is_wanted_is_counted(world: World) -> None:
    world.add(unique=Unique("k"), ttl=10.0)
    world.clock.advance(11)
    world.add(unique=Unique("k"))
    assert counts(world) == {"expired": 1}


def test_what_neither_ends_nor_returns_a_job_is_not_counted(world: World, session: int) -> None:
    dead = world.add_dead(session)
    world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(dead,)), new_ids=[world.new_id()])).wait()
    world.store.prune_jobs(p.PruneJobs(completed_after=0.0, cancelled_after=0.0, dead_after=0.0, limit=10)).wait()
    assert counts(world) == {}


def test_what_is_undone_is_not_counted(world: World) -> None:
    def undone() -> None:
        with world.store.transaction() as tx:
            [answer] = world.store.enqueue_jobs(p.EnqueueJobs([world.new_job(no_worker="fail")], tx)).wait()
            assert answer.dead
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undone()
    assert counts(world) == {}
    with world.store.transaction() as tx:
        world.store.enqueue_jobs(p.EnqueueJobs([world.new_job(no_worker="fail")], tx)).wait()
    assert counts(world) == {"dead": 1}


def test_removed_at_once_it_still_counts(world: World) -> None:
    world.add(policy=policy_text(attempts=1, remove_on_fail=True))
    world.claim(world.register())
    world.clock.advance(STALE_AFTER + 1)
    world.recover()
    assert world.dead().total == 0
    assert counts(world) == {"recovered": 1, "dead": 1}


# Samples


def store_sample(world: World, term: int | None = None, *, ended: bool = True, **fields: float) -> None:
    counted = world.store.count_gauges().wait()
    gauges = [
        p.Gauge(route=one.route, depth=one.depth, oldest_due_at=one.oldest_due_at,
                workers=int(fields.get("workers", 0)), slots=fields.get("slots"))
        for one in counted.gauges
    ]  # fmt: skip
    sample = p.StoreSample(counted.at, 0.25, gauges, world.store.count_ended().wait() if ended else None, term, True)
    world.store.store_sample(sample).wait()


def test_nothing_was_sampled_yet(world: World) -> None:
    assert world.store.read_sample().wait() is None
    assert world.store.read_capacity().wait() == []


def test_a_sample_says_what_waits_and_runs_by_what_it_asks_for(world: World, session: int) -> None:
    due = world.clock.now_us()
    world.add_many(3, type="send", queue="mail")
    world.add(type="send", queue="mail", delay=60.0)
    world.add_many(2, type="resize", queue="images", capability="media")
    claims = world.claim(session, 2)
    world.start(claims[0])
    store_sample(world)
    sample = world.store.read_sample().wait()
    assert sample is not None
    assert (sample.at, sample.seconds) == (world.clock.now_us(), 0.25)
    found = {gauge.route: gauge for gauge in sample.gauges}
    assert found[MAIL].depth == p.Depth(pending=1, ready=1, scheduled=1, claimed=1, running=1)
    assert found[OTHER].depth == p.Depth(pending=2, ready=2)
    assert found[MAIL].oldest_due_at == due
    assert found[MAIL].depth.unended == 4


def test_what_waits_before_a_limit_is_pending_and_not_ready(world: World, session: int) -> None:
    from penstock.domain.flow.gates import Gate

    gate = Gate("key:k", 1, None, "job")
    world.enqueue(*(p.NewJob(world.new_id(), "{}", p.JobSpec(type="send", queue="mail"), (gate,)) for _ in range(3)))
    assert len(world.claim(session)) == 1
    store_sample(world)
    [gauge] = sample_of(world).gauges
    assert (gauge.depth.pending, gauge.depth.ready + gauge.depth.blocked, gauge.depth.claimed) == (2, 2, 1)
    assert gauge.depth.blocked >= 1


def sample_of(world: World) -> p.Sample:
    sample = world.store.read_sample().wait()
    assert sample is not None
    return sample


def test_ended_jobs_are_counted_when_that_is_asked_for(world: World, session: int) -> None:
    world.add_dead(session)
    world.add()
    world.complete(*world.claim(session))
    world.cancel(world.add())
    store_sample(world, ended=False)
    assert sample_of(world).ended is None
    store_sample(world)
    assert sample_of(world).ended == p.Ended(completed=1, cancelled=1, dead=1)
    dead = world.add_dead(session)
    world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(dead,)), new_ids=[world.new_id()])).wait()
    world.clock.advance(5)
    store_sample(world, ended=False)
    assert sample_of(world).ended == p.Ended(completed=1, cancelled=1, dead=1)
    store_sample(world)
    assert sample_of(world).ended == p.Ended(completed=1, cancelled=1, dead=1)  # One of two was retried.


def test_a_route_without_jobs_is_told_as_that(world: World, session: int) -> None:
    world.add()
    store_sample(world, workers=2, slots=10.0)
    world.complete(*world.claim(session))
    store_sample(world)
    [gauge] = sample_of(world).gauges
    assert gauge.depth == p.Depth()
    assert (gauge.workers, gauge.slots) == (0, 10.0)  # How much one can do is remembered.
    assert gauge.oldest_due_at is None


def test_depths_are_kept_beside_the_counts(world: World, session: int) -> None:
    world.add_many(2, type="send", queue="mail")
    store_sample(world)
    send(world, session, page())
    fold(world)
    [row] = read(world).rows
    assert row.depth == p.Depth(pending=2, ready=2)
    assert row.figures.counts[Count.COMPLETED] == 1


# Capacity


def capacity(world: World) -> Iterator[p.CapacityRow]:
    return iter(world.store.read_capacity().wait())


def test_five_hundred_at_fifty_per_worker_hour_take_ten_three_and_two_workers(world: World, session: int) -> None:
    world.add_many(500, type="send", queue="mail")
    send(world, session, page(completed=10, ran=720.0))  # 72 seconds each: 50 in an hour.
    fold(world)
    store_sample(world, workers=4, slots=1.0)
    [row] = capacity(world)
    assert (row.type, row.queue, row.capability, row.pending, row.ready) == ("send", "mail", "general", 500, 500)
    assert row.avg_duration_seconds == pytest.approx(72.0)
    assert row.jobs_per_worker_hour == pytest.approx(50.0)
    assert (row.workers_for_1_hour, row.workers_for_4_hours, row.workers_for_8_hours) == (10, 3, 2)
    assert row.hours_to_drain == pytest.approx(2.5)
    assert (row.completed_last_hour, row.failed_last_hour, row.active_workers) == (10, 0, 4)
    assert row.sampled_at == world.clock.now_us()


def test_without_data_nothing_is_claimed_to_be_known(world: World) -> None:
    world.add(type="send", queue="mail")
    store_sample(world)
    [row] = capacity(world)
    unknown = (row.avg_duration_seconds, row.jobs_per_worker_hour, row.hours_to_drain, row.workers_for_1_hour,
               row.workers_for_4_hours, row.workers_for_8_hours)  # fmt: skip
    assert unknown == (None,) * 6
    assert (row.pending, row.completed_last_hour) == (1, 0)


def test_without_a_worker_it_is_known_how_many_it_takes_and_not_when_it_ends(world: World, session: int) -> None:
    world.add_many(3, type="send", queue="mail")
    send(world, session, page(completed=1, ran=1800.0))
    fold(world)
    store_sample(world, workers=1, slots=2.0)
    store_sample(world)
    [row] = capacity(world)
    assert row.hours_to_drain is None
    assert row.jobs_per_worker_hour == pytest.approx(4.0)
    assert (row.workers_for_1_hour, row.active_workers) == (1, 0)


def test_what_is_old_counts_no_more(world: World, session: int) -> None:
    send(world, session, page(1, completed=5, ran=100.0))
    fold(world)
    world.clock.advance(3700)
    world.add(type="send", queue="mail")
    store_sample(world)
    [row] = capacity(world)
    assert row.completed_last_hour == 0
    assert row.avg_duration_seconds == pytest.approx(20.0)
    world.clock.advance(90_000)
    store_sample(world)
    [row] = capacity(world)
    assert row.avg_duration_seconds is None


def test_another_handle_reads_the_same(world: World, session: int, open_again: OpenAgain) -> None:
    send(world, session, page())
    fold(world)
    world.add(type="send", queue="mail", resources=NO_RESOURCES, tenant=Tenant("acme"))
    store_sample(world)
    other = open_again()
    assert (read(other).rows, sample_of(other)) == (read(world).rows, sample_of(world))
    assert list(capacity(other)) == list(capacity(world))
