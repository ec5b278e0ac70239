"""Firing schedules: each tick makes one job, through take-overs, retries, clock steps and what people do meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from penstock import App, JobHandle, RateLimit, Schedule
from penstock.coordinator.duties.schedules import PAGE, TRY_AGAIN_SECONDS, Firing
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.clock import from_us
from penstock.domain.errors import CommitUncertain, NotLeader, StoreUnavailable
from penstock.domain.flow.gates import limit_of
from penstock.domain.job import State
from penstock.domain.options import Unique
from penstock.store import contract as p
from penstock.store.contract import SqlStore
from tests.contract.conftest import OpenAgain
from tests.contract.duties.test_lead import LEASE, lead
from tests.contract.world import World

MINUTE = timedelta(minutes=1)


class Shop:
    """An app on a store under test, and who fires its schedules."""

    def __init__(self, world: World, term: int) -> None:
        self.world = world
        self.app = App(world.store, clock=world.clock)
        self.term = term
        self.duty = Firing(world.store, CoordinatorSettings())

        @self.app.job
        async def cleanup(days: int = 7) -> None: ...

        self.cleanup = cleanup

    def add(self, name: str = "nightly", **when: Any) -> Schedule:
        return self.app.schedules.add(name, job=self.cleanup.bind(), **{"every": "1m", **when})

    def fire(self) -> float:
        return asyncio.run(self.duty.do(self.term))

    def after(self, seconds: float) -> list[timedelta]:
        """When the jobs were due that a look after so long made, as time since before; the oldest first."""
        before, known = from_us(self.world.clock.now_us()), set(self.world.list_ids())
        self.world.clock.advance(seconds)
        self.fire()
        made = [self.world.read(job) for job in self.world.list_ids() if job not in known]
        return sorted(job.due_at - before for job in made)


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world, lead(world, world.register("leader")).term)


def told(caplog: pytest.LogCaptureFixture, event: str) -> list[Any]:
    return [record for record in caplog.records if getattr(record, "event", None) == event]


# Ticks


def test_a_tick_makes_a_job_that_is_due_then_and_tagged(shop: Shop) -> None:
    shop.add()
    assert shop.after(59.9) == []
    assert shop.after(0.3) == [timedelta(seconds=0.1)]
    (job,) = shop.world.list_ids(tag="schedule:nightly")
    assert (shop.world.read(job).type, shop.world.read(job).payload) == ("cleanup", {})
    found = shop.app.schedules.get("nightly")
    assert (found.fires, found.last_job, found.last_at) == (1, job, shop.world.read(job).due_at)
    assert shop.after(30) == []


def test_the_next_look_is_at_the_next_tick_or_after_a_second(shop: Shop) -> None:
    assert shop.fire() == 1.0
    shop.add()
    assert shop.fire() == 1.0
    shop.world.clock.advance(59.5)
    assert shop.fire() == 0.5
    shop.world.clock.advance(0.5)
    assert shop.fire() == 1.0


def test_the_options_of_the_job_are_kept(shop: Shop) -> None:
    call = shop.cleanup.using(queue="night", priority=7, tags=["mine"], delay="10s", attempts=5).bind(days=3)
    shop.app.schedules.add("nightly", job=call, every="1m")
    assert shop.after(60) == [timedelta(seconds=70)]
    (job,) = [shop.world.read(job) for job in shop.world.list_ids()]
    assert (job.queue, job.priority, job.tags, job.payload) == ("night", 7, ("mine", "schedule:nightly"), {"days": 3})
    assert (job.max_attempts, job.state) == (5, State.SCHEDULED)


def test_limits_of_the_config_hold_for_jobs_of_schedules(shop: Shop) -> None:
    limit = limit_of(RateLimit("type:cleanup", 1, per="1h"))
    session = shop.world.register("limited", limits=(limit,), declared={})
    for name in ("a", "b"):
        shop.add(name)
    shop.after(60)
    assert len(shop.world.claim(session)) == 1


def test_many_are_fired_in_one_look(shop: Shop) -> None:
    shop.app.schedules.add("first", job=shop.cleanup.bind(), every="1m")
    row = shop.world.store.read_schedules(p.ReadSchedules()).wait().schedules[0]
    copies = [msgspec.structs.replace(row, name=f"s{number}") for number in range(PAGE + 5)]
    changes = [p.ScheduleChange(one.name, one, None) for one in copies]
    shop.world.store.change_schedules(p.ChangeSchedules(changes)).wait()
    assert len(shop.after(60)) == PAGE + 6


# What was missed


def test_once_makes_one_job_of_what_was_missed(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add()
    assert shop.after(330) == [5 * MINUTE]
    (record,) = told(caplog, "schedule.missed")
    assert (record.schedule, record.missed, record.fired) == ("nightly", 4, 1)
    assert shop.after(30) == [30 * timedelta(seconds=1)]
    assert len(told(caplog, "schedule.missed")) == 1


def test_once_late_beyond_the_grace_is_fired_and_told(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add(every="1h", grace="1m")
    assert shop.after(3600 + 61) == [60 * MINUTE]
    assert [record.missed for record in told(caplog, "schedule.missed")] == [1]


def test_skip_drops_what_is_later_than_the_grace(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add(every="1h", misfire="skip", grace="1m")
    assert shop.after(3600 + 60) == [60 * MINUTE]
    assert told(caplog, "schedule.missed") == []
    assert shop.after(3600 + 1) == []
    assert [(record.missed, record.fired) for record in told(caplog, "schedule.missed")] == [(1, 0)]
    assert shop.after(3600 - 61) == [3600 * timedelta(seconds=1) - timedelta(seconds=61)]


def test_what_was_missed_is_handed_to_whoever_tells_it(shop: Shop) -> None:
    handed: list[dict[str, int]] = []
    shop.duty.on_missed = lambda missed: handed.append(dict(missed))
    shop.add(every="1h", misfire="skip", grace="1m")
    shop.after(3600)
    shop.after(3 * 3600 + 61)
    assert handed == [{}, {"nightly": 3}]


def test_all_makes_up_for_each_in_pages(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add(misfire="all")
    assert shop.after(250 * 60) == [number * MINUTE for number in range(1, 251)]
    (record,) = told(caplog, "schedule.missed")  # Once, when it is through. The last two are within the grace.
    assert (record.missed, record.fired, "was missed 248 times:" in caplog.text) == (248, 250, True)
    assert shop.app.schedules.get("nightly").fires == 250


def test_what_was_missed_is_told_though_catching_up_is_cut_short(
    shop: Shop, meddled: Meddled, caplog: pytest.LogCaptureFixture
) -> None:
    def lose() -> None:
        meddled.before = away

    def away() -> None:
        raise StoreUnavailable("away")

    shop.add(misfire="all")
    shop.world.clock.advance(250 * 60)
    meddled.after = lose
    with pytest.raises(StoreUnavailable):
        shop.fire()
    assert [(record.missed, record.fired) for record in told(caplog, "schedule.missed")] == [(100, 100)]
    shop.fire()
    assert [(record.missed, record.fired) for record in told(caplog, "schedule.missed")][1:] == [(148, 150)]


def test_a_punctual_one_is_not_called_missed(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add()
    for _ in range(3):
        shop.after(60)
    assert told(caplog, "schedule.missed") == []


def test_very_many_missed_ticks_take_no_time(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add(every=None, cron="* * * * * *")
    assert len(shop.after(400 * 86400)) == 1
    assert "100 times or more" in caplog.text


# Its end


@pytest.mark.parametrize("misfire", ["once", "skip", "all"])
def test_the_limit_finishes_it(shop: Shop, misfire: p.Misfire) -> None:
    shop.add(limit=3, misfire=misfire)
    for _ in range(5):
        shop.after(60)
    found = shop.app.schedules.get("nightly")
    assert (found.fires, found.status, found.next_at) == (3, "finished", None)
    assert len(shop.world.list_ids()) == 3


def test_catching_up_ends_at_the_limit(shop: Shop) -> None:
    shop.add(limit=3, misfire="all")
    assert shop.after(600) == [MINUTE, 2 * MINUTE, 3 * MINUTE]
    assert shop.app.schedules.get("nightly").status == "finished"


def test_the_end_finishes_it(shop: Shop) -> None:
    shop.add(end=from_us(shop.world.clock.now_us()) + 2 * MINUTE)
    assert shop.after(600) == [2 * MINUTE]
    assert shop.app.schedules.get("nightly").status == "finished"
    assert shop.after(600) == []


# Several coordinators


class Meddled:
    """A store behind whose back something happens once, before a change is stored or after."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self.before: Callable[[], object] | None = None
        self.after: Callable[[], object] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def change_schedules(self, params: p.ChangeSchedules) -> Awaitable[p.SchedulesChanged]:
        return self._change(params)

    async def _change(self, params: p.ChangeSchedules) -> p.SchedulesChanged:
        before, self.before = self.before, None
        if before is not None:
            await asyncio.to_thread(before)
        done: p.SchedulesChanged = await self._store.change_schedules(params)
        after, self.after = self.after, None
        if after is not None:
            after()
        return done


@pytest.fixture
def meddled(shop: Shop) -> Meddled:
    """Between the shop's duty and its store."""
    store = Meddled(shop.world.store)
    shop.duty = Firing(cast(SqlStore, store), CoordinatorSettings())
    return store


def test_a_take_over_between_the_look_and_the_fire(shop: Shop, meddled: Meddled, open_again: OpenAgain) -> None:
    shop.add()
    other = Shop(open_again(), 0)
    next_leader = other.world.register("next")

    def take_over() -> None:
        other.world.clock.advance(LEASE)
        other.term = lead(other.world, next_leader).term
        other.fire()

    meddled.before = take_over
    shop.world.clock.advance(60)
    with pytest.raises(NotLeader):
        shop.fire()
    assert len(shop.world.list_ids()) == 1
    other.fire()
    assert len(shop.world.list_ids()) == 1


def test_two_who_both_think_that_they_lead(shop: Shop, meddled: Meddled, open_again: OpenAgain) -> None:
    """The term alone would let both: whoever comes second finds that the tick was taken."""
    shop.add()
    meddled.before = Shop(open_again(), shop.term).fire
    assert shop.after(60) == [MINUTE]
    assert shop.app.schedules.get("nightly").fires == 1


def test_a_commit_whose_answer_was_lost_is_not_made_twice(shop: Shop, meddled: Meddled) -> None:
    def lose() -> None:
        raise CommitUncertain("the answer was lost")

    shop.add()
    meddled.after = lose
    shop.world.clock.advance(60)
    with pytest.raises(CommitUncertain):
        shop.fire()
    shop.fire()
    assert len(shop.world.list_ids()) == 1


@pytest.mark.parametrize("act", ["pause", "remove"])
def test_what_a_person_does_meanwhile_holds(shop: Shop, meddled: Meddled, act: str) -> None:
    shop.add()
    meddled.before = lambda: getattr(shop.app.schedules, act)("nightly")
    assert shop.after(60) == []
    assert shop.after(600) == []


def test_what_a_person_changes_meanwhile_is_what_is_fired(shop: Shop, meddled: Meddled) -> None:
    shop.add()
    meddled.before = lambda: shop.app.schedules.reschedule("nightly", job=shop.cleanup.bind(days=1))
    assert shop.after(60) == [MINUTE]
    assert [shop.world.read(job).payload for job in shop.world.list_ids()] == [{"days": 1}]


def test_the_clock_of_the_store_goes_back_and_forth(shop: Shop) -> None:
    shop.add()
    assert shop.after(60) == [MINUTE]
    assert shop.after(-60) == []
    assert shop.after(60) == []
    assert shop.after(60) == [MINUTE]
    assert shop.after(-30) == []
    assert shop.after(90) == [timedelta(seconds=90)]


# What cannot be fired


def spoil(shop: Shop, name: str, **fields: Any) -> None:
    (row,) = shop.world.store.read_schedules(p.ReadSchedules((name,))).wait().schedules
    spoilt = p.ScheduleChange(name, msgspec.structs.replace(row, **fields), row.revision)
    assert shop.world.store.change_schedules(p.ChangeSchedules([spoilt])).wait().last


def test_one_that_cannot_be_read_does_not_stop_the_others(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add("a")
    shop.add("b")
    shop.add("c")
    shop.add("d")
    (row,) = shop.world.store.read_schedules(p.ReadSchedules(("d",))).wait().schedules
    spoil(shop, "d", plan=row.plan.replace('"every":60000000', '"cron":"no cron at all"'))
    spoil(shop, "b", plan='{"timing": {"cron": "0 3 * * *", "timezone": "Mars/Olympus"}, "payload": "{}", '
                          '"spec": {"type": "x"}}')  # fmt: skip
    spoil(shop, "c", plan='{"of": "a later version"}')
    assert len(shop.after(60)) == 1
    assert sorted(record.schedule for record in told(caplog, "schedule.failed")) == ["b", "c", "d"]
    assert "Mars/Olympus" in caplog.text
    assert "penstock schedules remove c" in caplog.text
    assert [one.problem is not None for one in shop.app.schedules.list()] == [False, True, True, True]
    assert [one.type for one in shop.app.schedules.list()] == ["cleanup", "x", "", "cleanup"]
    assert len(shop.after(60)) == 1


def test_one_whose_job_cannot_be_stored_does_not_stop_the_others(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a", "b", "c"):
        shop.add(name)
    (row,) = shop.world.store.read_schedules(p.ReadSchedules(("b",))).wait().schedules
    spoil(shop, "b", plan=row.plan.replace('"delay":0.0', '"delay":1e19'))
    assert len(shop.after(60)) == 2
    assert [record.schedule for record in told(caplog, "schedule.failed")] == ["b"]


def test_one_that_failed_is_tried_again_after_a_while(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.add()
    spoil(shop, "nightly", plan="{}")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        shop.world.clock.advance(60)
        await shop.duty.do(shop.term)
        assert len(told(caplog, "schedule.failed")) == 1
        await shop.duty.do(shop.term)
        assert len(told(caplog, "schedule.failed")) == 1
        shop.duty._aside = {one: until - TRY_AGAIN_SECONDS for one, until in shop.duty._aside.items()}
        assert all(until <= loop.time() for until in shop.duty._aside.values())
        await shop.duty.do(shop.term)
        assert len(told(caplog, "schedule.failed")) == 2

    asyncio.run(main())


def test_one_that_failed_and_was_mended_is_tried_at_once(shop: Shop) -> None:
    shop.add()
    (row,) = shop.world.store.read_schedules(p.ReadSchedules()).wait().schedules
    spoil(shop, "nightly", plan="{}")
    assert shop.after(60) == []
    spoil(shop, "nightly", plan=row.plan)
    shop.fire()
    assert len(shop.world.list_ids()) == 1


def test_a_store_that_is_away_is_no_fault_of_a_schedule(
    shop: Shop, meddled: Meddled, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> None:
        raise StoreUnavailable("away")

    shop.add("a")
    shop.add("b")
    meddled.before = away
    shop.world.clock.advance(60)
    with pytest.raises(StoreUnavailable):
        shop.fire()
    assert told(caplog, "schedule.failed") == []
    shop.fire()
    assert len(shop.world.list_ids()) == 2


def test_a_schedule_of_a_removed_type_goes_on_and_its_jobs_wait(shop: Shop) -> None:
    shop.app.schedules.add("old", job=shop.app.client.call_by_name("gone", {}, {}, {}), every="1m")
    assert shop.after(60) == [MINUTE]
    assert shop.after(60) == [MINUTE]
    assert {shop.world.state(job) for job in shop.world.list_ids()} == {State.PENDING}


# Running now


def test_run_now_makes_a_job_beside_the_times(shop: Shop) -> None:
    shop.add(limit=1)
    job = shop.app.schedules.run("nightly")
    assert isinstance(job, JobHandle)
    assert job.read().tags == ("schedule:nightly",)
    assert shop.app.schedules.get("nightly").last_job == job.id
    assert shop.after(60) == [MINUTE]
    shop.app.schedules.pause("nightly") if shop.app.schedules.get("nightly").status == "active" else None
    assert shop.app.schedules.run("nightly").state() is State.PENDING
    assert len(shop.world.list_ids(tag="schedule:nightly")) == 3


def test_run_now_answers_its_own_job_though_it_runs_again_at_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.add()
    store, jobs = shop.world.store, list[JobHandle[Any]]()
    real = store.change_schedules

    def then_another(params: p.ChangeSchedules) -> Any:
        stored = real(params).wait()
        monkeypatch.setattr(store, "change_schedules", real)
        jobs.append(shop.app.schedules.run("nightly"))
        return SimpleNamespace(wait=lambda: stored)

    monkeypatch.setattr(store, "change_schedules", then_another)
    jobs.append(shop.app.schedules.run("nightly"))
    assert sorted(job.id for job in jobs) == sorted(shop.world.list_ids())
    assert [job.created for job in jobs] == [True, True]


def test_run_now_answers_the_job_that_holds_its_unique_key(shop: Shop) -> None:
    shop.app.schedules.add("nightly", job=shop.cleanup.using(unique=Unique("one")).bind(), every="1m")
    first, second = shop.app.schedules.run("nightly"), shop.app.schedules.run("nightly")
    assert (first.created, second.created, second.id) == (True, False, first.id)
    assert shop.app.schedules.get("nightly").last_job == first.id


def test_fires_are_logged_for_programs(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shop.add()
    shop.after(60)
    (record,) = told(caplog, "schedule.fired")
    assert (record.schedule, record.jobs) == ("nightly", shop.world.list_ids())


# A worker in burst mode


def burst(shop: Shop) -> None:
    asyncio.run(asyncio.wait_for(shop.app.run_worker(burst=True, worker_id="burst"), 30))


def test_a_worker_in_burst_mode_fires_what_is_due_and_runs_it(world: World) -> None:
    """As one that is started by the system's cron: it may be gone before the duties of a leader have their turn."""
    shop = Shop(world, 0)
    shop.add()
    for count in (1, 2):
        world.clock.advance(60)
        burst(shop)
        assert [world.state(job) for job in world.list_ids()] == [State.COMPLETED] * count
    burst(shop)
    assert shop.app.schedules.get("nightly").fires == 2


def test_a_worker_in_burst_mode_leaves_a_live_leader_alone(shop: Shop) -> None:
    shop.add()
    shop.world.clock.advance(60)
    lead(shop.world, shop.world.register("leader"))
    burst(shop)
    assert shop.world.list_ids() == []
    assert shop.world.store.lead_store(p.LeadStore(-1, LEASE)).wait().worker_id == "leader"


def test_a_worker_in_burst_mode_works_though_schedules_cannot_be_fired(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(params: object) -> Any:
        raise StoreUnavailable("away")

    shop = Shop(world, 0)
    job = shop.cleanup.enqueue()
    monkeypatch.setattr(world.store, "due_schedules", away)
    burst(shop)
    assert job.state() is State.COMPLETED
    assert "could not fire schedules: away" in caplog.text
