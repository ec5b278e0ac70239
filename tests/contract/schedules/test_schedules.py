"""Schedules: each change is made from what the schedule was, or not at all; each tick is taken once (S1)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from penstock.domain.errors import NotLeader
from penstock.domain.options import Unique
from penstock.store import contract as p
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.duties.test_lead import LEASE, lead
from tests.contract.world import World

HOUR = 3_600_000_000


def row(world: World, name: str = "nightly", **fields: Any) -> p.ScheduleRow:
    now = world.clock.now_us()
    known = {"plan": "{}", "next_at": now, "created_at": now, "changed_at": now}
    return p.ScheduleRow(**{"name": name, **known, **fields})


def change(world: World, *changes: p.ScheduleChange, **fields: Any) -> list[str]:
    return list(world.store.change_schedules(p.ChangeSchedules(changes, **fields)).wait().last)


def add(world: World, name: str = "nightly", **fields: Any) -> p.ScheduleRow:
    assert change(world, p.ScheduleChange(name, row(world, name, **fields), None)) == [name]
    return read(world, name)


def read(world: World, name: str = "nightly") -> p.ScheduleRow:
    (found,) = world.store.read_schedules(p.ReadSchedules((name,))).wait().schedules
    return found


def names(found: p.SchedulePage) -> list[str]:
    return [one.name for one in found.schedules]


def due(world: World, **fields: Any) -> p.SchedulePage:
    return world.store.due_schedules(p.DueSchedules(**fields)).wait()


def fire(world: World, found: p.ScheduleRow, *jobs: p.NewJob) -> p.ScheduleChange:
    """The tick of a schedule as a leader has reckoned it."""
    taken = msgspec.structs.replace(
        found, next_at=(found.next_at or 0) + HOUR, fires=found.fires + len(jobs), last_at=found.next_at,
        last_job=jobs[-1].id if jobs else None,
    )  # fmt: skip
    return p.ScheduleChange(found.name, taken, found.revision, jobs)


# Reading


def test_what_was_stored_is_read(world: World, carry_out: CarryOut) -> None:
    one = row(world, status="paused", next_at=None, fires=3, anchor=5, last_at=7, last_job="x", declared="{}")
    assert carry_out(world.store.change_schedules(p.ChangeSchedules([p.ScheduleChange("nightly", one, None)]))).last
    found = carry_out(world.store.read_schedules(p.ReadSchedules()))
    assert found.now == world.clock.now_us()
    assert [msgspec.structs.replace(seen, revision=0) for seen in found.schedules] == [one]
    assert carry_out(world.store.due_schedules(p.DueSchedules())).schedules == []


def test_they_are_listed_by_name_or_asked_for_by_name(world: World) -> None:
    for name in ("b", "a", "Ä", "c"):
        add(world, name)
    assert names(world.store.read_schedules(p.ReadSchedules()).wait()) == ["a", "b", "c", "Ä"]
    assert names(world.store.read_schedules(p.ReadSchedules(("c", "x", "a"))).wait()) == ["a", "c"]
    assert names(world.store.read_schedules(p.ReadSchedules(())).wait()) == []


def test_due_are_those_whose_tick_has_come_the_oldest_first(world: World) -> None:
    now = world.clock.now_us()
    add(world, "late", next_at=now - 5)
    add(world, "now", next_at=now)
    add(world, "soon", next_at=now + 1)
    add(world, "later", next_at=now + 2)
    add(world, "paused", next_at=now - 5, status="paused")
    add(world, "removed", next_at=now - 5, status="removed")
    add(world, "finished", next_at=None)
    found = due(world)
    assert (names(found), found.now, found.next_at) == (["late", "now"], now, now + 1)
    assert names(due(world, limit=1)) == ["late"]
    late = read(world, "late").revision
    assert names(due(world, but=(("late", late), ("x", 1)))) == ["now"]
    assert names(due(world, but=(("late", late - 1), ("now", late + 10**9)))) == ["late", "now"]


def test_nothing_is_due_where_there_is_nothing(world: World) -> None:
    assert due(world) == p.SchedulePage(world.clock.now_us(), [], None)


# Taking ticks


def test_a_tick_is_stored_with_its_job(world: World) -> None:
    found = add(world)
    tick = world.clock.now_us()
    job = world.new_job(at=tick, tags=("schedule:nightly",))
    assert change(world, fire(world, found, job)) == ["nightly"]
    after = read(world)
    assert (after.fires, after.last_at, after.last_job, after.next_at) == (1, tick, job.id, tick + HOUR)
    assert world.list_ids(tag="schedule:nightly") == [job.id]
    assert due(world).schedules == []


def test_a_tick_is_taken_once_whoever_comes_second(world: World, open_again: OpenAgain) -> None:
    """Two leaders that read the same, and one whose answer was lost and who tries again."""
    found = add(world)
    other = open_again()
    first, second = world.new_job(), other.new_job()
    assert change(world, fire(world, found, first)) == ["nightly"]
    assert change(other, fire(other, found, second)) == []
    assert change(world, fire(world, found, first)) == []
    assert world.list_ids() == [first.id]
    assert read(world).fires == 1


def test_of_several_those_are_stored_that_nobody_has_changed(world: World) -> None:
    rows = [add(world, name) for name in ("a", "b", "c")]
    jobs = [world.new_job() for _ in rows]
    change(world, p.ScheduleChange("b", msgspec.structs.replace(rows[1], status="paused"), rows[1].revision))
    fires = [fire(world, *pair) for pair in zip(rows, jobs, strict=True)]
    assert sorted(change(world, *fires)) == ["a", "c"]
    assert sorted(world.list_ids()) == sorted([jobs[0].id, jobs[2].id])


def test_what_an_old_term_wants_is_refused_with_its_jobs(world: World) -> None:
    old, new = world.register("old"), world.register("new")
    lead(world, old)
    found = add(world)
    world.clock.advance(LEASE)
    lead(world, new)
    with pytest.raises(NotLeader, match="term 1 is over"):
        change(world, fire(world, found, world.new_job()), term=1)
    assert (read(world), world.list_ids()) == (found, [])
    assert change(world, fire(world, found, world.new_job()), term=2) == ["nightly"]


@pytest.mark.parametrize("status", ["paused", "removed"])
def test_one_that_a_person_stopped_meanwhile_is_not_fired(world: World, status: p.ScheduleStatus) -> None:
    found = add(world)
    change(world, p.ScheduleChange("nightly", msgspec.structs.replace(found, status=status), found.revision))
    assert change(world, fire(world, found, world.new_job())) == []
    assert world.list_ids() == []


def test_one_that_was_removed_and_added_again_is_another(world: World) -> None:
    """Whoever still has the old one in hand does not take a tick of the new one."""
    found = add(world)
    assert change(world, p.ScheduleChange("nightly", None, found.revision)) == ["nightly"]
    world.clock.advance(1)
    add(world, next_at=found.next_at)
    assert change(world, fire(world, found, world.new_job())) == []


def test_many_jobs_of_one_schedule_are_stored_together(world: World) -> None:
    found = add(world)
    jobs = [world.new_job(at=world.clock.now_us() - number) for number in range(5)]
    assert change(world, fire(world, found, *jobs)) == ["nightly"]
    assert (read(world).fires, len(world.list_ids()), read(world).last_job) == (5, 5, jobs[-1].id)


def test_the_last_job_is_the_one_that_holds_the_unique_key(world: World) -> None:
    holder = world.add(unique=Unique("one"))
    fires = [fire(world, add(world), world.new_job(), world.new_job(unique=Unique("one"))),
             fire(world, add(world, "other"), world.new_job()), fire(world, add(world, "none"))]  # fmt: skip
    stored = world.store.change_schedules(p.ChangeSchedules(fires)).wait().last
    assert stored == {"nightly": holder, "other": fires[1].jobs[0].id, "none": None}
    assert (read(world).last_job, len(world.list_ids())) == (holder, 3)


def test_clock_steps_bring_no_tick_back(world: World) -> None:
    found = add(world)
    change(world, fire(world, found, world.new_job()))
    world.clock.advance(-7200)
    assert due(world).schedules == []
    world.clock.advance(7200 + 3599)
    assert due(world).schedules == []
    world.clock.advance(1)
    assert names(due(world)) == ["nightly"]


def test_jobs_that_cannot_be_stored_leave_everything_as_it_was(world: World) -> None:
    found = add(world)
    with pytest.raises(Exception, match=r".+"):
        change(world, fire(world, found, world.new_job(at=2**80)))
    assert (read(world), world.list_ids()) == (found, [])


# Changing


def test_two_who_add_the_same_name_add_one(world: World, open_again: OpenAgain) -> None:
    add(world)
    assert change(open_again(), p.ScheduleChange("nightly", row(world, fires=9), None)) == []
    assert read(world).fires == 0


def test_a_change_made_from_an_old_revision_is_dropped(world: World) -> None:
    found = add(world)
    paused = msgspec.structs.replace(found, status="paused")
    assert change(world, p.ScheduleChange("nightly", paused, found.revision)) == ["nightly"]
    assert change(world, p.ScheduleChange("nightly", found, found.revision)) == []
    assert change(world, p.ScheduleChange("nightly", None, found.revision)) == []
    assert read(world).status == "paused"
    assert change(world, p.ScheduleChange("nightly", None, read(world).revision)) == ["nightly"]
    assert world.store.read_schedules(p.ReadSchedules()).wait().schedules == []


def test_an_unknown_one_cannot_be_changed_or_removed(world: World) -> None:
    assert change(world, p.ScheduleChange("x", row(world, "x"), 1), p.ScheduleChange("y", None, 1)) == []


def test_of_many_who_fire_at_once_one_succeeds(world: World, open_again: OpenAgain) -> None:
    """Each in a thread and with a connection of its own; those who come second wait for the first, and are told no."""
    found = [add(world, name) for name in ("a", "b", "c")]
    others = [open_again() for _ in range(4)]

    def fire_all(other: World) -> list[str]:
        return change(other, *(fire(other, one, other.new_job()) for one in found))

    with ThreadPoolExecutor(len(others)) as pool:
        stored = [name for names in pool.map(fire_all, others) for name in names]
    assert sorted(stored) == ["a", "b", "c"]
    assert len(world.list_ids()) == 3
    assert [one.fires for one in world.store.read_schedules(p.ReadSchedules()).wait().schedules] == [1, 1, 1]
