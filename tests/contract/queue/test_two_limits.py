"""A key means one thing everywhere: another number for it is refused while jobs of the key are there."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Gate, Limit
from penstock.domain.job import Event
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, policy_text

ORIGIN = "store:{store}"


def at_once(most: int, declarer: str | None, name: str = "store:7", *, ordered: bool = False) -> Gate:
    return Gate(f"key:{name}", most, None, f"key:{ORIGIN}", ordered, declarer)


def per_second(most: int, declarer: str | None, seconds: float = 1.0) -> Gate:
    return Gate("rate:api", most, int(seconds * MICROSECONDS), "rate:api", False, declarer)


def new(world: World, *gates: Gate, **fields: Any) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(**fields), gates=gates)


def add(world: World, *gates: Gate, **fields: Any) -> str:
    return world.enqueue(new(world, *gates, **fields))[0].id


def tend(world: World) -> None:
    """What the leader does every few seconds: gates that nobody holds and nobody waits before are forgotten."""
    world.store.tend_gates(p.TendGates()).wait()


def refuse(world: World, *gates: Gate, **fields: Any) -> str:
    before = world.list_ids()
    with pytest.raises(ConfigError, match="has two limits") as refused:
        add(world, *gates, **fields)
    assert world.list_ids() == before
    return str(refused.value)


def test_two_declarations_with_one_template_are_refused_with_both_numbers_and_the_way_out(world: World) -> None:
    add(world, at_once(1, "discover"))
    said = refuse(world, at_once(5, "resync"))
    assert said == (
        "the key 'store:7' has two limits: 1 at once by 'store:{store}' of discover, and 5 at once by 'store:{store}' "
        "of resync; give both the same, or other keys, or set the number for all in [concurrency_limits] of the config"
    )
    add(world, at_once(1, "resync"))
    add(world, at_once(5, "resync", "store:8"))


def test_so_are_two_rates(world: World) -> None:
    add(world, per_second(5, "one"))
    said = refuse(world, per_second(6, "other"))
    assert "'api' has two limits: 5 per 1s by 'api' of one, and 6 per 1s by 'api' of other" in said
    assert said.endswith("in [rate_limits] of the config")
    refuse(world, per_second(5, "other", seconds=60.0))
    refuse(world, at_once(9, "other"), per_second(6, "other"))


def test_so_is_one_that_is_ordered_here_and_not_there(world: World) -> None:
    add(world, at_once(1, "discover", ordered=True))
    assert "1 at once, in order by" in refuse(world, at_once(1, "resync"))


def test_so_are_two_in_one_call_whoever_declares_them(world: World) -> None:
    for other in ("discover", "resync", "", None):
        with pytest.raises(ConfigError, match=r"has two limits: 1 at once by .*, and 5 at once by"):
            world.enqueue(new(world, at_once(1, "discover")), new(world, at_once(5, other)))
    assert world.list_ids() == []
    add(world, at_once(5, "resync"))


def test_a_declaration_that_was_changed_changes_the_number(world: World, session: int) -> None:
    for _ in range(4):
        add(world, at_once(1, "discover"))
    assert len(world.claim(session)) == 1
    add(world, at_once(3, "discover"))
    refuse(world, at_once(1, "resync"))
    assert len(world.claim(session)) == 2


def test_a_number_that_one_enqueue_gave_is_no_declaration_that_could_change(world: World) -> None:
    add(world, at_once(1, ""))
    assert "by 'store:{store}' in using()" in refuse(world, at_once(2, ""))
    refuse(world, at_once(2, "discover"))
    add(world, at_once(1, "discover"))


def test_what_an_older_version_has_stored_says_nothing_of_its_declaration(world: World) -> None:
    add(world, at_once(1, None))
    add(world, at_once(2, "discover"))
    refuse(world, at_once(1, "resync"))


# While jobs of the key are there


@pytest.mark.parametrize("delay", [0.0, 3600.0])
def test_jobs_that_wait_or_are_scheduled_keep_their_number_though_the_gate_was_forgotten(
    world: World, delay: float
) -> None:
    add(world, at_once(1, "discover"), delay=delay)
    tend(world)
    refuse(world, at_once(5, "resync"))
    refuse(world, at_once(1, "resync", ordered=True))
    refuse(world, per_second(1, "resync"), at_once(5, "resync"))
    add(world, at_once(2, "discover"))
    tend(world)
    refuse(world, at_once(1, "resync"))


def test_the_second_limit_of_a_job_counts_too(world: World) -> None:
    add(world, at_once(1, "discover"), per_second(5, "discover"))
    tend(world)
    refuse(world, per_second(6, "resync"))


def test_jobs_that_run_are_parked_or_are_tried_again_keep_it(world: World, session: int) -> None:
    first, second = (add(world, at_once(1, "discover"), policy=policy_text(attempts=9)) for _ in range(2))
    (held,) = world.claim(session)
    assert held.id == first
    tend(world)
    refuse(world, at_once(5, "resync"))
    world.cancel(second)
    world.end(held, Event.BACK_OFF, delay=60.0)
    tend(world)
    refuse(world, at_once(5, "resync"))


@pytest.mark.parametrize("how", ["completed", "cancelled", "dead"])
def test_when_all_of_its_jobs_have_ended_the_key_takes_another_number(world: World, session: int, how: str) -> None:
    job = add(world, at_once(1, "discover"))
    if how == "cancelled":
        world.cancel(job)
    else:
        (held,) = world.claim(session)
        world.complete(held) if how == "completed" else world.end(held, Event.FAIL)
    tend(world)
    add(world, at_once(5, "resync"))
    refuse(world, at_once(1, "discover"))


def test_what_the_config_says_makes_all_numbers_one(world: World) -> None:
    world.register("configured", limits=(Limit(f"key:{ORIGIN}", 3, None),))
    add(world, at_once(1, "discover"))
    add(world, at_once(5, "resync"))
    tend(world)
    add(world, at_once(7, ""))
    refuse(world, at_once(1, "resync", ordered=True))


# Callers' transactions, races, and where nobody is there to be told


def test_in_a_transaction_of_the_callers(world: World) -> None:
    add(world, at_once(1, "discover"))
    other, good = new(world, at_once(5, "resync")), new(world, at_once(1, "resync"))
    with world.store.transaction() as tx:
        with pytest.raises(ConfigError, match="has two limits"):
            world.store.enqueue_jobs(p.EnqueueJobs([other], tx)).wait()
        world.store.enqueue_jobs(p.EnqueueJobs([good], tx)).wait()
    assert (world.find(other.id), world.read(good.id).id) == (None, good.id)


def test_two_in_one_transaction_of_the_callers(world: World) -> None:
    with world.store.transaction() as tx:
        world.store.enqueue_jobs(p.EnqueueJobs([new(world, at_once(1, "discover"))], tx)).wait()
        with pytest.raises(ConfigError, match="has two limits"):
            world.store.enqueue_jobs(p.EnqueueJobs([new(world, at_once(5, "resync"))], tx)).wait()
    refuse(world, at_once(5, "resync"))


def test_one_that_was_rolled_back_leaves_nothing(world: World) -> None:
    def block() -> None:
        with world.store.transaction() as tx:
            world.store.enqueue_jobs(p.EnqueueJobs([new(world, at_once(1, "discover"))], tx)).wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    add(world, at_once(5, "resync"))


def test_of_two_who_come_at_the_same_moment_one_is_refused(world: World, open_again: OpenAgain) -> None:
    worlds = world, open_again()
    for number in range(10):
        together, said = threading.Barrier(2), list[str]()
        racers = [
            threading.Thread(target=_race, args=(one, at_once(most, f"type{most}", f"store:{number}"), together, said))
            for most, one in enumerate(worlds, 1)
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert sorted(said) == ["refused", "stored"]


def _race(world: World, gate: Gate, together: threading.Barrier, said: list[str]) -> None:
    job = new(world, gate)
    together.wait()
    try:
        world.enqueue(job)
        said.append("stored")
    except ConfigError:
        said.append("refused")


def test_a_schedule_that_is_due_takes_the_number_that_is_stored(world: World, session: int) -> None:
    """Nobody is there to be told, and a schedule that does not fire is worse."""
    for _ in range(3):
        add(world, at_once(1, "discover"))
    fired = new(world, at_once(5, None))
    fire(world, fired)
    assert world.find(fired.id) is not None
    assert len(world.claim(session)) == 1


def fire(world: World, *jobs: p.NewJob) -> None:
    change = p.ScheduleChange("nightly", p.ScheduleRow(name="nightly", plan="{}"), None, jobs)
    world.store.change_schedules(p.ChangeSchedules([change])).wait()
