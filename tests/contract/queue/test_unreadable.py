"""Values that cannot be read, whoever wrote them: no reader stops at one, and the doctor names it with what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from penstock import App
from penstock.domain.errors import StoreError
from penstock.domain.job import State
from penstock.domain.options import Options
from penstock.observe.doctor import check_store
from penstock.store import contract as p
from penstock.store.sql import declared, unreadable
from tests.contract.conftest import Hand
from tests.contract.engines import Engine
from tests.contract.world import World

Told = Callable[[], str]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """What the log says. What other tests were told of is told again."""
    for tell in (declared.tell_unreadable_type, unreadable.tell_unreadable_job, unreadable.tell_unknown_states):
        tell.cache_clear()
    caplog.set_level(logging.WARNING, logger="penstock.store")
    return lambda: caplog.text


def doctor(world: World, deep: bool = True) -> list[p.Finding]:
    return [one for one in check_store(world.store, world.clock, deep) if one.level != "ok"]


# The options of a type

OPTIONS = {
    "no JSON": "{nope",
    "another type": "[]",
    "a value of another type": '{"queue": 5}',
    "no end": "[" * 5000,
}


@pytest.fixture(params=OPTIONS)
def bad_type(request: pytest.FixtureRequest, engine: Engine, world: World, session: int, hand: Hand) -> str:
    """A declared type whose options cannot be read, beside one whose can be."""
    world.register("declares", types=("bad", "good"), declared={"bad": Options(priority=7), "good": Options()})
    hand(f"UPDATE penstock.job_type SET options = '{OPTIONS[request.param]}' WHERE name = 'bad'")
    return "bad"


@pytest.mark.parametrize("deep", [False, True])
def test_the_doctor_names_a_type_whose_options_cannot_be_read(world: World, bad_type: str, deep: bool) -> None:
    (found,) = [one for one in doctor(world, deep) if one.name == "types"]
    assert found.level == "warning"
    assert "'bad'" in found.message
    assert "start a worker that declares" in str(found.fix)


def test_a_type_that_cannot_be_read_counts_as_not_declared_and_is_told_of_once(
    world: World, bad_type: str, told: Told
) -> None:
    for _ in range(3):
        assert list(world.store.read_types().wait()) == ["good"]
    assert told().count("'bad'") == 1


def test_a_type_that_cannot_be_read_stops_no_enqueue_no_retry_and_no_worker(
    world: World, session: int, bad_type: str
) -> None:
    dead = world.add_dead(session, type="other")
    own = world.add_dead(session, type=bad_type, priority=3)
    app = App(world.store, clock=world.clock)
    assert app.enqueue("bad", {}).id
    (ended,) = world.enqueue(world.new_job(type="nobody", capability="none", no_worker="fail"))
    assert ended.dead
    world.pause("queue", "default")
    world.resume("queue", "default")
    pairs = (
        world.store.retry_dead(
            p.RetryDead(filter=p.DeadFilter(ids=(dead, own)), new_ids=[world.new_id(), world.new_id()])
        )
        .wait()
        .pairs
    )
    assert {old for old, _ in pairs} == {dead, own}
    assert world.read(dict(pairs)[own]).priority == 3
    world.register("again", types=("bad",), declared={"bad": Options(priority=7)})
    assert world.store.read_types().wait()["bad"].priority == 7
    assert [one for one in doctor(world) if one.name == "types"] == []


# The state of an outcome


@pytest.fixture(params=[99, 0, -1])
def bad_job(request: pytest.FixtureRequest, world: World, session: int, hand: Hand) -> str:
    """A job that has ended in a state that does not exist, with one that has completed and one that waits."""
    bad, good = world.add(), world.add()
    world.complete(*world.claim(session))
    world.add(delay=60.0)
    key = f"(SELECT KEY FROM penstock.job WHERE id = '{bad}')"
    hand(f"UPDATE penstock.outcome SET state = {request.param} WHERE KEY = {key}")
    assert world.state(good) is State.COMPLETED
    return bad


def test_the_doctor_names_a_job_in_an_unknown_state(world: World, bad_job: str) -> None:
    (found,) = [one for one in doctor(world) if one.name in ("integrity", "jobs")]
    assert found.level == "error"
    assert found.message == f"1 × a job that has ended in a state that does not exist, such as {bad_job}"
    assert "docs/doctor.md" in str(found.fix)
    assert "penstock jobs show" not in str(found.fix)


def test_others_are_listed_and_counted_beside_a_job_in_an_unknown_state(world: World, bad_job: str, told: Told) -> None:
    for _ in range(2):
        listed = world.store.list_jobs(p.ListJobs()).wait()
        assert sorted(job.state for job in listed) == [State.COMPLETED, State.SCHEDULED]
        counts = world.store.count_jobs(p.CountJobs()).wait()
        assert {one.state: one.jobs for one in counts} == {State.COMPLETED: 1, State.SCHEDULED: 1}
        narrowed = world.store.count_jobs(p.CountJobs(queue="default")).wait()
        assert {one.state: one.jobs for one in narrowed} == {State.COMPLETED: 1, State.SCHEDULED: 1}
    assert told().count(bad_job) == 1
    assert "1 job of type 'task'" in told()


def test_a_job_in_an_unknown_state_is_an_error_that_names_it(world: World, bad_job: str) -> None:
    with pytest.raises(StoreError, match=rf"{bad_job}.*penstock doctor --deep"):
        world.store.read_job(bad_job).wait()


# What is only shown of a job

SHOWN = {
    "limits": "UPDATE penstock.job SET gates = '[1]'",
    "error": "UPDATE penstock.job SET error = '{nope'",
    "progress": "UPDATE penstock.outcome SET progress = '{nope'",
    "error in history": "UPDATE penstock.history SET error = '{nope'",
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_job_is_shown_without_what_cannot_be_read(world: World, session: int, hand: Hand, what: str) -> None:
    dead = world.add_dead(session)
    hand(SHOWN[what])
    assert world.state(dead) is State.DEAD
    assert world.list_ids() == [dead]
    assert [job.id for job in world.dead().jobs] == [dead]
    assert world.store.read_history(dead).wait()


def test_a_time_that_cannot_be_hides_one_job(world: World, hand: Hand, told: Told) -> None:
    bad, good = world.add(), world.add()
    hand(f"UPDATE penstock.job SET created_at = {2**62} WHERE id = '{bad}'")
    assert world.list_ids() == [good]
    assert bad in told()
    with pytest.raises(StoreError, match=bad):
        world.store.read_job(bad).wait()
    assert doctor(world)
