"""Whichever way a job dies, it is as visible as one that dies in its handler: a line in the log, a step in its history,
a dead letter. And whatever else others do to jobs has its line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import pytest

from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Tenant
from penstock.observe.events import Events, Observer
from penstock.observe.job_log import LINES, JobLog
from penstock.observe.observed import observed
from penstock.store import contract as p
from tests.contract.conftest import Hand
from tests.contract.world import STALE_AFTER, World, policy_text

START_TIMEOUT = 300.0
ACME = Tenant("acme", "eu")


class Heard(Observer):
    """What it was told of."""

    def __init__(self) -> None:
        self.jobs: list[p.Happened] = []

    def happened(self, jobs: Sequence[p.Happened]) -> None:
        self.jobs += jobs


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def seen(world: World, heard: Heard) -> Iterator[p.Store]:
    """The world's store as a program has it: whatever is done in this world is observed."""
    store = world.store
    world.store = observed(store, Events(JobLog(), heard))  # type: ignore[assignment]
    yield world.store
    world.store = store


def add(world: World, ttl: float | None = None) -> str:
    return world.add(type="send", queue="mail", tenant=ACME, tags=("a",), policy=policy_text(attempts=1), ttl=ttl)


def lost_with_its_worker(world: World, hand: Hand) -> tuple[str, State]:
    job = add(world)
    world.claim(world.register())
    world.clock.advance(STALE_AFTER + 1)
    world.recover()
    return job, State.DEAD


def never_begun(world: World, hand: Hand) -> tuple[str, State]:
    job, session = add(world), world.register()
    for _ in range(2):
        world.claim(session)
        world.clock.advance(START_TIMEOUT)
        world.heartbeat(session)
        world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT, times_max=1)).wait()
    return job, State.DEAD


def expired_by_the_leader(world: World, hand: Hand) -> tuple[str, State]:
    job = add(world, ttl=10.0)
    world.clock.advance(11)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    return job, State.EXPIRED


def expired_on_the_way_of_a_claim(world: World, hand: Hand) -> tuple[str, State]:
    job = add(world, ttl=10.0)
    world.clock.advance(11)
    assert world.claim(world.register()) == []
    return job, State.EXPIRED


def without_a_worker(world: World, hand: Hand) -> tuple[str, State]:
    job = add(world)
    fail = p.FailUnroutable(
        type="send", queue="mail", capability="general", resources=NO_RESOURCES, reason="nobody takes it"
    )
    world.store.fail_unroutable(fail).wait()
    return job, State.DEAD


def without_a_worker_at_its_enqueue(world: World, hand: Hand) -> tuple[str, State]:
    [answer] = world.enqueue(world.new_job(type="send", queue="mail", tenant=ACME, tags=("a",), no_worker="fail"))
    return answer.id, State.DEAD


def unreadable(world: World, hand: Hand) -> tuple[str, State]:
    job = add(world)
    hand(f"UPDATE penstock.job SET gates = '[1]' WHERE id = '{job}'")
    assert world.claim(world.register()) == []
    hand(f"UPDATE penstock.job SET gates = NULL WHERE id = '{job}'")
    return job, State.DEAD


WAYS: tuple[Callable[[World, Hand], tuple[str, State]], ...] = (
    lost_with_its_worker, never_begun, expired_by_the_leader, expired_on_the_way_of_a_claim, without_a_worker,
    without_a_worker_at_its_enqueue, unreadable,
)  # fmt: skip


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("die", WAYS, ids=lambda way: way.__name__)
def test_a_job_that_dies_without_its_handler_is_seen(
    world: World,
    heard: Heard,
    hand: Hand,
    caplog: pytest.LogCaptureFixture,
    die: Callable[[World, Hand], tuple[str, State]],
) -> None:
    with caplog.at_level(logging.INFO, "penstock.job"):
        job_id, state = die(world, hand)
    event = Event.FAIL if state is State.DEAD else Event.EXPIRE
    [told] = [one for one in heard.jobs if one.event is event]
    assert (told.id, told.state) == (job_id, state)
    # The log
    [line] = [record for record in caplog.records if getattr(record, "event", "") in ("job.dead", "job.expired")]
    job = world.read(job_id)
    assert (line.name, line.levelno) == ("penstock.job.send", logging.ERROR if state is State.DEAD else logging.WARNING)
    carried = ("job_id", "type", "queue", "tenant", "workspace", "decided_by", "tags")
    kept = {name: getattr(line, name, None) for name in carried}
    assert kept == {
        "job_id": job_id, "type": "send", "queue": "mail", "tenant": "acme", "workspace": "eu",
        "decided_by": job.decided_by, "tags": ("a",),
    }  # fmt: skip
    assert job.decided_by is not None
    assert job.reason is not None
    assert job.reason in line.getMessage()
    # The history
    last = world.store.read_history(job_id).wait()[-1]
    assert (last.event, last.reason) == (event, job.reason)
    # The dead letters
    page = world.store.list_dead(p.ListDead(filter=p.DeadFilter(), limit=10)).wait()
    assert [dead.id for dead in page.jobs] == [job_id]


@pytest.mark.usefixtures("seen")
def test_what_others_do_to_jobs_has_a_line_each(world: World, caplog: pytest.LogCaptureFixture) -> None:
    session = world.register()
    with caplog.at_level(logging.DEBUG, "penstock.job"):
        waiting, claimed = add(world), world.add(type="send")
        world.cancel(waiting, "ann")
        world.claim(session)
        world.clock.advance(START_TIMEOUT)
        world.heartbeat(session)
        world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT)).wait()
        [held] = world.claim(session)
        world.end(held, Event.FAIL, error='{"type":"ValueError","message":"no"}', reason="gave up")
        world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(claimed,)), new_ids=[world.new_id()])).wait()
        world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter(ids=(claimed,), retried=True))).wait()
    lines = [(record.levelname, getattr(record, "event", "")) for record in caplog.records]
    assert lines == [
        ("INFO", "job.cancelled"), ("WARNING", "job.returned"), ("DEBUG", "job.enqueued"), ("INFO", "job.retried"),
        ("DEBUG", "job.removed"),
    ]  # fmt: skip
    assert caplog.messages[0] == f"{waiting} cancelled: by ann"


def test_every_event_that_is_told_has_its_line() -> None:
    """Of what comes by itself nothing is told: that a moment has come, that a limit has room, that a worker begins."""
    assert set(Event) - LINES.keys() == {Event.DUE, Event.BLOCK, Event.UNBLOCK, Event.CLAIM, Event.START}


@pytest.mark.usefixtures("seen")
def test_what_may_yet_be_rolled_back_is_not_told(world: World, heard: Heard) -> None:
    def undone() -> None:
        with world.store.transaction() as tx:
            job = world.new_job(type="send", no_worker="fail")
            [answer] = world.store.enqueue_jobs(p.EnqueueJobs([job], tx)).wait()
            assert answer.happened
            raise RuntimeError("undo")

    with pytest.raises(RuntimeError, match="undo"):
        undone()
    assert heard.jobs == []
