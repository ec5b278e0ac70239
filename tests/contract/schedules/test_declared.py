"""Schedules that programs declare and people edit: neither undoes what the other has done (S2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from penstock import App, ConfigError, Schedule, Tenant, UnknownSchedule, UsageError
from penstock.client.schedules.installing import install
from penstock.domain.clock import from_us
from penstock.domain.errors import StoreBusy
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.world import World


class Program:
    """A program with a job, and what it declares about schedules."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app = App(world.store, clock=world.clock)

        @self.app.job
        async def cleanup(days: int = 7) -> None: ...

        self.cleanup = cleanup
        self.all = self.app.schedules

    def declare(self, name: str = "nightly", days: int = 7, **when: Any) -> Program:
        self.app.schedule(name, job=self.cleanup.bind(days), **({"cron": "0 3 * * *"} | when))
        return self

    def start(self) -> Schedule:
        asyncio.run(install(self.world.store, self.app._planned))
        return self.all.get("nightly")


@pytest.fixture
def program(world: World) -> Program:
    return Program(world)


@pytest.fixture
def again(world: World) -> Callable[[], Program]:
    """The next version of the program, or its next start."""
    return lambda: Program(world)


def row(world: World) -> p.ScheduleRow:
    (found,) = world.store.read_schedules(p.ReadSchedules(("nightly",))).wait().schedules
    return found


# Declarations


def test_a_declaration_touches_no_store_until_a_worker_starts(program: Program) -> None:
    program.declare()
    assert program.all.list() == []
    found = program.start()
    assert (found.status, found.cron, found.type, found.payload) == ("active", "0 3 * * *", "cleanup", {"days": 7})
    assert (found.declared, found.changed_by) == (True, "declaration")
    assert found.next_at is not None
    assert (found.next_at.hour, found.next_at - from_us(program.world.clock.now_us()) < timedelta(days=1)) == (3, True)


def test_the_same_declaration_changes_nothing(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    before = row(program.world)
    program.world.clock.advance(86400 * 3)
    again().declare().start()
    assert row(program.world) == before


def test_what_people_made_of_it_stays(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    program.all.pause("nightly")
    program.all.reschedule("nightly", cron="0 4 * * *", job=program.cleanup.bind(1))
    found = again().declare().start()
    assert (found.status, found.cron, found.payload, found.changed_by) == ("paused", "0 4 * * *", {"days": 1}, "client")


def test_one_that_was_removed_stays_so_until_it_is_resumed(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    program.all.remove("nightly", by="ann")
    assert again().declare().start().status == "removed"
    assert program.all.list() == []
    assert [one.name for one in program.all.list(removed=True)] == ["nightly"]
    for act in (program.all.pause, program.all.remove, program.all.run):
        with pytest.raises(
            UnknownSchedule, match=r"was removed by ann; bring it back with: penstock schedules resume nightly$"
        ):
            act("nightly")
    assert program.all.resume("nightly") is True
    assert again().declare().start().status == "active"


def test_a_person_may_have_the_name_of_one_that_was_removed(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    program.all.run("nightly")
    program.all.remove("nightly")
    program.world.clock.advance(60)
    added = program.all.add("nightly", job=program.cleanup.bind(1), every="1h", by="ann")
    assert (added.status, added.every, added.fires, added.last_job) == ("active", 3600.0, 0, None)
    assert (added.created_at, added.changed_by) == (from_us(program.world.clock.now_us()), "ann")
    assert again().declare().start() == added == program.all.get("nightly"), "the same declaration leaves it alone"
    assert again().declare(days=9).start().payload == {"days": 9}, "another one is taken over"
    with pytest.raises(ConfigError, match="there is a schedule 'nightly' already"):
        program.all.add("nightly", job=program.cleanup.bind(), every="1h")


def test_a_declaration_that_changed_is_taken_over(
    program: Program, again: Callable[[], Program], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    program.declare().start()
    program.all.reschedule("nightly", cron="0 4 * * *")
    found = again().declare(cron="0 5 * * *", days=2).start()
    assert (found.status, found.cron, found.payload) == ("active", "0 5 * * *", {"days": 2})
    assert [getattr(record, "event", None) for record in caplog.records] == ["schedule.installed", "schedule.changed"]


def test_another_job_leaves_the_times_that_a_person_has_given(
    program: Program, again: Callable[[], Program], caplog: pytest.LogCaptureFixture
) -> None:
    """A new default of the type is part of every declaration of its jobs: it must not undo what people did."""
    caplog.set_level(logging.INFO)
    program.declare(grace="1m", limit=5).start()
    program.all.reschedule("nightly", cron="0 4 * * *", grace="2m", limit=7)
    due = row(program.world).next_at
    program.world.clock.advance(30 * 86400)
    found = again().declare(days=2, grace="1m", limit=9).start()
    assert (found.payload, found.cron, found.grace, found.limit) == ({"days": 2}, "0 4 * * *", 120.0, 9)
    assert row(program.world).next_at == due
    assert "changed as it is declared now: 0 4 * * * (UTC); it is active" in caplog.text
    before = row(program.world)
    again().declare(days=2, grace="1m", limit=9).start()
    assert row(program.world) == before


def test_other_times_leave_the_job_that_a_person_has_given(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    program.all.reschedule("nightly", job=program.cleanup.using(queue="night").bind(1), misfire="all")
    found = again().declare(cron="0 5 * * *").start()
    assert (found.payload, found.queue, found.misfire, found.cron) == ({"days": 1}, "night", "all", "0 5 * * *")


@pytest.mark.parametrize("part", ["plan", "declared"])
def test_what_cannot_be_read_is_replaced_by_the_declaration(
    program: Program, again: Callable[[], Program], part: str
) -> None:
    program.declare().start()
    program.all.reschedule("nightly", cron="0 4 * * *")
    before = row(program.world)
    spoilt = msgspec.structs.replace(before, **{part: '{"of": "a later version"}'})
    program.world.store.change_schedules(
        p.ChangeSchedules([p.ScheduleChange("nightly", spoilt, before.revision)])
    ).wait()
    found = again().declare(days=2).start()
    assert (found.cron, found.payload) == ("0 3 * * *", {"days": 2})


@pytest.mark.parametrize("act", ["pause", "remove"])
def test_what_was_stopped_stays_so_also_when_the_declaration_changes(
    program: Program, again: Callable[[], Program], act: str
) -> None:
    program.declare().start()
    getattr(program.all, act)("nightly", by="ann")
    stopped_at = from_us(program.world.clock.now_us())
    program.world.clock.advance(60)
    found = again().declare(days=2).start()
    assert (found.status, found.payload) == ({"pause": "paused", "remove": "removed"}[act], {"days": 2})
    assert (found.changed_by, found.changed_at) == ("ann", stopped_at)


def test_a_due_tick_stays_due_when_only_the_job_changes(program: Program, again: Callable[[], Program]) -> None:
    """A deploy at the wrong moment must not swallow it."""
    program.declare(cron=None, every="1m").start()
    due = row(program.world).next_at
    program.world.clock.advance(61)
    again().declare(cron=None, every="1m", days=2).start()
    assert row(program.world).next_at == due
    again().declare(cron=None, every="2m", days=2).start()
    assert row(program.world).next_at == program.world.clock.now_us() + 120_000_000


def test_one_that_a_person_added_before_is_taken_over(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    found = program.declare().start()
    assert (found.cron, found.every, found.declared) == ("0 3 * * *", None, True)


def test_an_end_that_has_passed_does_not_stop_the_program(program: Program) -> None:
    assert program.declare(end=datetime(2020, 1, 1, tzinfo=UTC)).start().status == "finished"


def test_many_programs_that_start_at_once_install_one(world: World, open_again: OpenAgain) -> None:
    programs = [Program(open_again()).declare().declare("other") for _ in range(4)]

    async def main() -> None:
        await asyncio.gather(*(install(one.world.store, one.app._planned) for one in programs))

    asyncio.run(main())
    assert [one.name for one in programs[0].all.list()] == ["nightly", "other"]


def test_two_declarations_of_one_name_are_an_error(program: Program) -> None:
    with pytest.raises(ConfigError, match="two schedules are declared as 'nightly'; give one of them another name"):
        program.declare().declare()


def test_an_app_without_its_declaration_leaves_the_schedule(program: Program, again: Callable[[], Program]) -> None:
    program.declare().start()
    assert again().start().status == "active"


# What people do


def test_adding_listing_and_getting(program: Program) -> None:
    call = program.cleanup.using(queue="night", tenant=Tenant("acme")).bind(3)
    added = program.all.add("nightly", job=call, cron="30 2 * * mon", tz="Europe/Berlin", limit=5, by="ann",
                            misfire="skip", grace="5m", end=datetime(2999, 1, 1, tzinfo=UTC))  # fmt: skip
    assert (added.cron, added.timezone, added.limit, added.queue) == ("30 2 * * MON", "Europe/Berlin", 5, "night")
    assert (added.misfire, added.grace, added.changed_by, added.declared) == ("skip", 300.0, "ann", False)
    assert [program.all.get("nightly")] == program.all.list() == [added]


def test_the_next_times(program: Program) -> None:
    def due(**arguments: Any) -> list[str]:
        return [moment.isoformat() for moment in program.all.upcoming("nightly", **arguments)]

    program.all.add("nightly", job=program.cleanup.bind(), cron="0 3 * * MON", tz="Europe/Berlin",
                    start=datetime(2030, 3, 20, tzinfo=UTC))  # fmt: skip
    assert due(count=3) == ["2030-03-25T02:00:00+00:00", "2030-04-01T01:00:00+00:00", "2030-04-08T01:00:00+00:00"]
    assert (len(due()), program.all.get("nightly").next_at) == (5, program.all.upcoming("nightly")[0])
    program.all.reschedule("nightly", limit=2)
    assert len(due()) == 2
    program.all.reschedule("nightly", limit=None, end=datetime(2030, 4, 1, 12, tzinfo=UTC))
    assert len(due()) == 2
    program.all.pause("nightly")
    assert due() == []
    program.all.add("rare", job=program.cleanup.bind(), every=100 * 365 * 86400)
    assert 60 < len(asyncio.run(program.all.aupcoming("rare", count=1000))) < 80
    for wrong in (0, 1001, True, "5"):
        with pytest.raises(ConfigError, match=r"count=.* is not possible: a whole number from 1 to 1000"):
            due(count=wrong)
    with pytest.raises(UnknownSchedule):
        program.all.upcoming("x")


def test_of_times_that_were_missed_the_first_is_upcoming(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    began = from_us(program.world.clock.now_us())
    program.world.clock.advance(5.5 * 3600)
    assert [moment - began for moment in program.all.upcoming("nightly", count=3)] == [
        timedelta(hours=1), timedelta(hours=6), timedelta(hours=7),
    ]  # fmt: skip


def test_removing_one_that_nobody_declares_leaves_nothing(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    program.all.remove("nightly")
    assert program.all.list(removed=True) == []
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")


def test_pausing_and_resuming(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    assert [program.all.pause("nightly"), program.all.pause("nightly")] == [True, False]
    assert (program.all.get("nightly").status, program.all.get("nightly").next_at) == ("paused", None)
    program.world.clock.advance(5.5 * 3600)
    assert [program.all.resume("nightly"), program.all.resume("nightly")] == [True, False]
    next_at = program.all.get("nightly").next_at
    assert next_at is not None
    assert next_at - from_us(program.world.clock.now_us()) == timedelta(minutes=30)


@pytest.mark.parametrize("act", ["pause", "remove", None])
@pytest.mark.parametrize("over", ["limit", "end"])
def test_resuming_one_that_is_over_says_so(program: Program, act: str | None, over: str) -> None:
    now = from_us(program.world.clock.now_us())
    when = {"limit": 1} if over == "limit" else {"end": now + timedelta(minutes=90)}
    program.declare(cron=None, every="1h", **when).start()
    before = row(program.world)
    fired = msgspec.structs.replace(before, fires=1, next_at=None)
    program.world.store.change_schedules(
        p.ChangeSchedules([p.ScheduleChange("nightly", fired, before.revision)])
    ).wait()
    if act is not None:
        getattr(program.all, act)("nightly")
    program.world.clock.advance(2 * 3600)
    stopped = row(program.world)
    told = {"limit": "limit=1 is reached: the schedule 'nightly' has fired that often", "end": "would never fire"}[over]
    fix = f"penstock schedules {'add' if act == 'remove' else 'reschedule'} nightly$"
    with pytest.raises(ConfigError, match=f"{told}.* {fix}"):
        program.all.resume("nightly")
    assert row(program.world) == stopped


def test_rescheduling_changes_what_is_given_and_nothing_else(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(3), cron="0 3 * * *", tz="Europe/Berlin", limit=9)
    changed = program.all.reschedule("nightly", cron="0 4 * * *")
    assert (changed.cron, changed.timezone, changed.limit, changed.payload) == (
        "0 4 * * *", "Europe/Berlin", 9, {"days": 3},
    )  # fmt: skip
    changed = program.all.reschedule("nightly", tz="UTC", limit=None, grace="2m")
    assert (changed.cron, changed.timezone, changed.limit, changed.grace) == ("0 4 * * *", "UTC", None, 120.0)
    changed = program.all.reschedule("nightly", every="1h")
    assert (changed.cron, changed.every) == (None, 3600.0)
    changed = program.all.reschedule("nightly", start=datetime(2999, 1, 1, tzinfo=UTC))
    assert changed.next_at == changed.start == datetime(2999, 1, 1, tzinfo=UTC)


def test_rescheduling_a_paused_one_leaves_it_paused(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(3), every="1h")
    program.all.pause("nightly")
    assert program.all.reschedule("nightly", every="2h").status == "paused"


def test_the_async_twins_do_the_same(program: Program, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        schedules = program.all
        added = await schedules.aadd("nightly", job=program.cleanup.bind(), every="1h")
        assert await schedules.alist() == [added] == [await schedules.aget("nightly")]
        assert await schedules.apause("nightly")
        assert await schedules.aresume("nightly")
        assert (await schedules.areschedule("nightly", every="2h")).every == 7200.0
        job = await schedules.arun("nightly")
        assert (await job.aread()).tags == ("schedule:nightly",)
        with pytest.raises(UsageError, match=r"await alist\(\)"):
            schedules.list()
        await schedules.aremove("nightly", by="ann")

    asyncio.run(main())
    assert program.all.list() == []
    assert getattr(caplog.records[-1], "event", None) == "schedule.removed"


def test_one_that_changes_all_the_time_is_an_error_at_last(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")

    class Never:
        def wait(self) -> p.SchedulesChanged:
            return p.SchedulesChanged({})

        def __await__(self) -> Any:
            yield from ()
            return self.wait()

    monkeypatch.setattr(program.world.store, "change_schedules", lambda params: Never())
    with pytest.raises(StoreBusy, match="changed by others all the time; try again"):
        program.all.pause("nightly")
    with pytest.raises(StoreBusy, match="changed by others all the time; start again"):
        program.declare(days=5).start()


# What people get wrong

HOURLY = {"every": "1h"}


@pytest.mark.parametrize("act", ["get", "pause", "resume", "remove", "run"])
def test_unknown_names_are_errors_that_offer_the_nearest(program: Program, act: str) -> None:
    with pytest.raises(UnknownSchedule, match="there is none yet"):
        getattr(program.all, act)("nightly")
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    with pytest.raises(UnknownSchedule, match="no schedule is named 'nigthly' in this store; did you mean 'nightly'"):
        getattr(program.all, act)("nigthly")
    with pytest.raises(UnknownSchedule, match="there are: nightly"):
        getattr(program.all, act)("x")


@pytest.mark.parametrize("by", ["", "x" * 201, None, 7, "nul\0", "\udcff"])
@pytest.mark.parametrize("act", ["add", "pause", "resume", "remove", "run", "reschedule"])
def test_who_does_it_is_a_text(program: Program, act: str, by: Any) -> None:
    more: dict[str, Any] = {}
    if act in ("add", "reschedule"):
        more = {"job": program.cleanup.bind(), **HOURLY}
    with pytest.raises(ConfigError, match=r"^by=.{1,83} is not who did it: a text of 1 to 200 characters"):
        getattr(program.all, act)("nightly", by=by, **more)
    assert program.all.list() == []


@pytest.mark.parametrize("name", ["\udcff", "nul\0", "x" * 10_000, "", "two words"])
@pytest.mark.parametrize("act", ["get", "pause", "resume", "remove", "run", "reschedule"])
def test_names_that_no_schedule_can_have_are_unknown(program: Program, act: str, name: str) -> None:
    """Some cannot even be sent to a store."""
    with pytest.raises(UnknownSchedule, match=r"no schedule is named .{2,40} in this store"):
        getattr(program.all, act)(name, **({"every": "1h"} if act == "reschedule" else {}))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "Give cron= or every="),
        ({"corn": "0 3 * * *"}, "corn= is not an option of a schedule; did you mean cron="),
        ({**HOURLY, "when": 1}, "there are: cron, every"),
        ({"cron": "0 0 30 2 *"}, "never fires"),
        ({"cron": "0 3 * * *", "tz": "Berlin"}, "did you mean 'Europe/Berlin'"),
        ({**HOURLY, "misfire": "never"}, "misfire='never' does not exist: 'once' makes one job"),
        ({**HOURLY, "grace": "soon"}, "grace='soon' is not a duration"),
        ({**HOURLY, "limit": 0}, "limit=0 is not possible"),
        ({**HOURLY, "limit": True}, "limit=True is not possible"),
        ({**HOURLY, "end": datetime(2020, 1, 1, tzinfo=UTC)}, "would never fire: .* before its end, 2020-01-01"),
        ({**HOURLY, "start": datetime(2999, 1, 2, tzinfo=UTC), "end": datetime(2999, 1, 1, tzinfo=UTC)},
         "is before start="),
    ],
)  # fmt: skip
def test_wrong_times_are_told_at_once(program: Program, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        program.all.add("nightly", job=program.cleanup.bind(), **wrong)
    assert program.all.list() == []


def test_wrong_jobs_and_names_are_told_at_once(program: Program) -> None:
    wrong = {
        "leave id= out": program.cleanup.using(id="0b0f8b7c-9a36-4d5b-8f5e-1f2a3b4c5d6e").bind(),
        "leave at= out": program.cleanup.using(at=datetime(2999, 1, 1, tzinfo=UTC)).bind(),
        "adds a tag of its own": program.cleanup.using(tags=[f"t{number}" for number in range(50)]).bind(),
    }
    for told, call in wrong.items():
        with pytest.raises(ConfigError, match=told):
            program.app.schedule("nightly", job=call, every="1h")
    with pytest.raises(UsageError, match=r"write job=cleanup.bind\(…\)"):
        program.app.schedule("nightly", job=program.cleanup, every="1h")  # type: ignore[arg-type]
    for name in ("", "two words"):
        with pytest.raises(ConfigError, match="schedule="):
            program.app.schedule(name, job=program.cleanup.bind(), every="1h")
    for length in (192, 195, 10_000):
        with pytest.raises(ConfigError, match=r"^schedule='x{30}'… is too long a name: at most 191 characters$"):
            program.app.schedule("x" * length, job=program.cleanup.bind(), every="1h")
    program.app.schedule("x" * 191, job=program.cleanup.bind(), every="1h")


def test_a_second_one_of_a_name_and_a_change_of_nothing(program: Program) -> None:
    program.all.add("nightly", job=program.cleanup.bind(), every="1h")
    with pytest.raises(ConfigError, match=r"'nightly' already; .* penstock schedules reschedule nightly$"):
        program.all.add("nightly", job=program.cleanup.bind(), every="2h")
    with pytest.raises(ConfigError, match="what is to be changed of 'nightly'"):
        program.all.reschedule("nightly")
    with pytest.raises(ConfigError, match="would never fire"):
        program.all.reschedule("nightly", end=datetime(2020, 1, 1, tzinfo=UTC))
