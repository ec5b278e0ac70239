"""What a store and its workers tell about themselves, judged without a store where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.options import Options, Resources
from penstock.engines import open_store
from penstock.observe import doctor
from penstock.observe.doctor import (
    check_clock,
    check_ping,
    check_schedules,
    check_store,
    check_waiting,
    check_workers,
    worst,
)
from penstock.store.contract import Finding, ScheduleRow, Waiting, WorkerInfo
from tests.contract.clock import START_US, FakeClock
from tests.contract.world import World
from tests.unit.observe.samples import lane, worker

MEDIA = Resources(cpu=4, memory="8Gi")


def waiting(*lanes: Waiting, workers: list[WorkerInfo], known: tuple[str, ...] = ("mail",)) -> list[Finding]:
    return list(check_waiting(lanes, workers, START_US, known))


# Time


def test_a_slow_answer_is_a_warning() -> None:
    assert (check_ping(0.09).level, check_ping(0.11).level) == ("ok", "warning")


@pytest.mark.parametrize(
    ("store", "machine", "newest", "level", "words"),
    [
        (0, 0, 0, "ok", "agree"),
        (0, 1.5, 1.5, "ok", "agree"),
        (5, 0, 5, "warning", "5s ahead of"),
        (0, 3600, 0, "warning", "1h behind"),
        (0, 0, 120, "warning", "2m in the future"),
    ],
)
def test_the_clock(store: float, machine: float, newest: float, level: str, words: str) -> None:
    found = check_clock(*(START_US + int(seconds * MICROSECONDS) for seconds in (store, machine, newest)))
    assert (found.level, words in found.message, bool(found.fix)) == (level, True, level != "ok")


# Workers


def test_live_workers_are_counted() -> None:
    (found,) = check_workers([worker(), worker(status="draining", jobs=1), worker(status="inactive")])
    assert (found.level, found.message) == ("ok", "2 live workers, 20 slots, 3 in use")


def test_nobody_alive() -> None:
    (found,) = check_workers([worker(status="inactive")])
    assert (found.level, "no worker is alive" in found.message) == ("warning", True)
    assert "penstock worker MODULE:APP" in (found.fix or "")


@pytest.mark.parametrize(("others", "fix"), [([], "penstock worker"), ([worker()], "another worker")])
def test_a_stale_worker_is_named_with_what_happens_to_its_jobs(others: list[WorkerInfo], fix: str) -> None:
    found = list(check_workers([worker(id="quiet", host="far", silent=75.0), *others]))[-1]
    assert (found.level, "quiet on far (1m15s ago)" in found.message, fix in (found.fix or "")) == (
        "warning", True, True,
    )  # fmt: skip


def test_a_worker_that_does_not_answer_probes_is_named() -> None:
    sick = worker(id="sick", host="far", status="inactive", failing=True, health="http://far:80/ready")
    ended = worker(id="ended", status="inactive")
    alone, found = check_workers([sick, ended])
    assert (alone.level, found.level) == ("warning", "warning")
    assert "get no jobs: sick on far at http://far:80/ready" in found.message


def test_a_worker_that_was_never_reached_is_named() -> None:
    ok, found = check_workers([worker(id="hidden", host="far", unreached=True, health="http://far:80/ready")])
    assert (ok.level, found.level) == ("ok", "warning")
    assert "never reached: hidden on far at http://far:80/ready" in found.message


def test_workers_lost_within_the_hour_are_named() -> None:
    lost = [worker(id=f"lost{number}", status="lost", silent=60.0) for number in range(7)]
    old = worker(id="old", status="lost", silent=3601.0)
    found = list(check_workers([worker(), *lost, old]))[-1]
    assert (found.level, "lost4" in found.message, "lost5" in found.message) == ("warning", True, False)
    assert "and 2 more" in found.message
    assert "old" not in found.message


# Jobs that wait


def test_nothing_waits() -> None:
    (found,) = waiting(workers=[])
    assert (found.level, found.message) == ("ok", "none")


def test_jobs_with_a_worker_that_takes_them() -> None:
    (found,) = waiting(lane(), workers=[worker(types=("other",)), worker()])
    assert (found.level, "3 jobs, the oldest for 1m30s" in found.message) == ("ok", True)


@pytest.mark.parametrize("idle", [[], [worker(silent=31.0)], [worker(status="draining")], [worker(status="lost")]])
def test_jobs_without_any_worker(idle: list[WorkerInfo]) -> None:
    (found,) = waiting(lane(), lane(queue="q"), workers=idle)
    assert (found.level, "6 jobs" in found.message, "no worker takes any" in found.message) == ("warning", True, True)


@pytest.mark.parametrize(
    ("asked", "has", "reason", "fix"),
    [
        ({"queue": "bulk"}, {"queues": ("default",)}, "the queue 'bulk'", "start a worker with --queues bulk"),
        ({"capability": "ml"}, {}, "the capability 'ml'", "start a worker with --capabilities ml"),
        (
            {"resources": MEDIA},
            {},
            "none has cpu 4, memory 8Gi (the most is cpu 0, memory 0)",
            "start a worker with --cpu 4 --memory 8Gi",
        ),
        (
            {"resources": MEDIA},
            {"resources": Resources(cpu=8, memory="1Gi")},
            "none has memory 8Gi (the most is memory 1Gi)",
            "start a worker with --cpu 4 --memory 8Gi",
        ),
        (
            {"capability": "ml", "resources": Resources(gpu=1)},
            {},
            "the capability 'ml' and none has gpu 1",
            "start a worker with --capabilities ml --gpu 1",
        ),
    ],
    ids=str,
)
def test_what_is_missing_is_named_with_the_flags_that_bring_it(
    asked: dict[str, Any], has: dict[str, Any], reason: str, fix: str
) -> None:
    (found,) = waiting(lane(**asked), workers=[worker(types=("other",)), worker(**has)])
    assert (found.level, reason in found.message, found.fix) == ("warning", True, fix)


def test_resources_that_are_there_but_not_together() -> None:
    has = [worker(resources=Resources(cpu=8, memory="1Gi")), worker(resources=Resources(cpu=1, memory="16Gi"))]
    (found,) = waiting(lane(resources=MEDIA), workers=has)
    assert "none has cpu 4, memory 8Gi together (the most is cpu 8, memory 16Gi)" in found.message
    more = worker(resources=Resources(cpu=2, memory="4Gi"))
    (found,) = waiting(lane(resources=Resources(gpu=1)), workers=[*has, more])
    assert "none has gpu 1 (the most is gpu 0)" in found.message


def test_the_worker_that_comes_closest_gives_the_reason() -> None:
    near = worker(queues=("other",))
    far = worker(queues=("other",), capabilities=("x",), types=("x",))
    (found,) = waiting(lane(), workers=[far, near])
    assert "none serves the queue 'default'" in found.message
    assert "capability" not in found.message


def test_an_unknown_type_is_named_with_the_nearest_known() -> None:
    (found,) = waiting(lane(type="mial"), workers=[worker()], known=("mail", "report"))
    assert "none takes the type 'mial'" in found.message
    assert "nearest is 'mail'" in found.message
    (found,) = waiting(lane(type="zzz"), workers=[worker()], known=("mail",))
    assert "nearest" not in found.message


def test_a_type_that_is_declared_but_taken_by_nobody() -> None:
    (found,) = waiting(lane(type="report"), workers=[worker()], known=("mail", "report"))
    assert "start a worker of the app that declares it" in (found.fix or "")


def test_many_kinds_are_cut_and_a_count_at_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LANES_MAX", 2)
    found = waiting(*(lane(queue=f"q{n}", jobs=10_000) for n in range(5)), workers=[worker(queues=("x",))])
    assert len(found) == 3
    assert "10,000 or more jobs" in found[0].message
    assert "3 more kinds" in found[2].message


# The whole, on a real store


def names(findings: list[Finding], level: str) -> list[str]:
    return [finding.name for finding in findings if finding.level == level]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = FakeClock()
    world = World(open_store(f"sqlite:///{tmp_path}/jobs.db", clock=clock), clock)
    yield world
    world.store.close()


def test_a_missing_store_stays_missing_and_only_the_engine_speaks(world: World) -> None:
    found = check_store(world.store, world.clock)
    assert worst(found) == "error"
    assert "workers" not in {finding.name for finding in found}
    assert world.store.migration_status().current == 0


def test_a_store_at_work(world: World) -> None:
    session = world.register("w", types=("mail",), declared={"mail": Options()})
    world.add_dead(session, type="mail")
    world.add(type="mail")
    found = check_store(world.store, world.clock)
    assert not {"answer", "clock", "workers", "waiting jobs"} & set(names(found, "warning"))
    assert {"answer", "clock", "workers", "waiting jobs", "dead letters"} <= set(names(found, "ok"))
    assert next(one.message for one in found if one.name == "dead letters").startswith("1;")


def test_types_known_from_elsewhere_count(world: World) -> None:
    world.register("w", types=("mail",), declared={"mail": Options()})
    world.add(type="report")
    asked = [check_store(world.store, world.clock, declared=known) for known in ((), ("report",))]
    unknown, declared = (next(one for one in found if one.name == "waiting jobs") for found in asked)
    assert "no worker has ever declared" in unknown.message
    assert "start a worker of the app that declares it" in (declared.fix or "")


def test_a_clock_that_went_back_is_seen_by_what_was_stored(world: World) -> None:
    world.add()
    world.clock.advance(-600)
    assert "clock" in names(check_store(world.store, world.clock), "warning")


def test_a_store_that_breaks_while_it_is_asked_is_a_finding(world: World, tmp_path: Path) -> None:
    world.add()
    world.store.close()
    found = check_store(world.store, world.clock)
    assert names(found, "error") == ["store"]


@pytest.mark.parametrize(
    ("levels", "expected"), [((), "ok"), (("ok", "warning"), "warning"), (("error", "warning", "ok"), "error")]
)
def test_the_worst(levels: tuple[Any, ...], expected: str) -> None:
    assert worst([Finding("x", level, "x") for level in levels]) == expected


def test_what_is_paused_is_told_and_is_no_fault(tmp_path: Path) -> None:
    clock = FakeClock()
    store = open_store(f"sqlite:///{tmp_path}/jobs.db", clock=clock)
    try:
        world = World(store, clock)
        world.register(types=("other",))
        world.add(type="mail", queue="slow")
        assert [one.level for one in check_store(store, clock) if one.name == "waiting jobs"] == ["warning"]
        world.pause("queue", "slow", actor="ann", reason="too slow")
        found = [one for one in check_store(store, clock) if one.name in ("paused", "waiting jobs")]
        assert [(one.level, one.message) for one in found] == [
            ("ok", "queue 'slow' has been paused for less than 1s by ann: too slow; 1 job waiting"), ("ok", "none"),
        ]  # fmt: skip
    finally:
        store.close()


# Schedules

PLAN = '{"timing": {"cron": "0 3 * * *", "timezone": "UTC"}, "payload": "{}", "spec": {"type": "x"}}'


def scheduled(name: str, late: float = 0.0, plan: str = PLAN, **fields: Any) -> ScheduleRow:
    return ScheduleRow(**{"name": name, "plan": plan, "next_at": START_US - int(late * MICROSECONDS), **fields})


def test_schedules_that_fire_in_time_are_counted() -> None:
    rows = [
        scheduled("a", late=60.0), scheduled("b", late=-3600.0), scheduled("paused", late=9999.0, status="paused"),
        scheduled("removed", plan="{}", status="removed"), scheduled("finished", next_at=None),
    ]  # fmt: skip
    assert list(check_schedules(rows, START_US, live=True)) == [Finding("schedules", "ok", "2 active")]
    assert list(check_schedules([], START_US, live=False)) == [Finding("schedules", "ok", "none")]


@pytest.mark.parametrize(("live", "fix"), [(False, "start one: penstock worker"), (True, "schedule.failed in the log")])
def test_overdue_schedules_are_named(live: bool, fix: str) -> None:
    rows = [scheduled(f"s{number}", late=61.0 + 3600 * number) for number in range(7)]
    (found,) = check_schedules([scheduled("fine"), *rows], START_US, live)
    assert (found.level, fix in (found.fix or "")) == ("warning", True)
    assert found.message.startswith("overdue, and not fired: s0 (for 1m1s), s1 (for 1h1m1s), s2 ")
    assert found.message.endswith(" and 2 more")


def test_schedules_that_cannot_be_reckoned_are_named() -> None:
    rows = [scheduled("zone", plan=PLAN.replace('"UTC"', '"Mars/Olympus"')), scheduled("other", late=999.0, plan="{}")]
    (found,) = check_schedules(rows, START_US, live=True)
    assert (found.level, "penstock schedules show NAME" in (found.fix or "")) == ("warning", True)
    assert "zone (its times cannot be reckoned here: timezone='Mars/Olympus' does not exist" in found.message
    assert "other (the plan of the schedule 'other' cannot be read" in found.message
