"""Dead letters: found by every filter, retried as new jobs that are linked both ways, purged for good."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.domain.errors import AlreadyRetried, UnknownJob
from penstock.domain.job import Event, State
from penstock.domain.options import Options, Policy, Resources, Tenant, Unique
from penstock.store.contract import DeadFilter, ListDead, PurgeDead, RetryDead
from tests.contract.world import World, policy_text


def retry(world: World, count: int = 10, force: bool = False, **filter: Any) -> list[tuple[str, str]]:
    new_ids = [world.new_id() for _ in range(count)]
    return world.store.retry_dead(RetryDead(filter=DeadFilter(**filter), new_ids=new_ids, force=force)).wait().pairs


def purge(world: World, limit: int = 1000, **filter: Any) -> int:
    return world.store.purge_dead(PurgeDead(filter=DeadFilter(**filter), limit=limit)).wait().jobs


@pytest.fixture
def letters(world: World, session: int) -> dict[str, str]:
    """Four dead letters that differ in everything that can be asked for."""
    mail = world.add_dead(session, "timeout at 10.0.0.1", type="mail", queue="slow", tenant=Tenant("acme", "eu"))
    world.clock.advance(10)
    sync = world.add_dead(session, "100% broken", type="sync", tenant=Tenant("other"), tags=("red",))
    world.clock.advance(10)
    plain = world.add_dead(session, "timeout again")
    expired = world.add(ttl=1.0, type="ttl")
    world.clock.advance(10)
    world.claim(session)
    return {"mail": mail, "sync": sync, "plain": plain, "expired": expired}


# List


def test_dead_and_expired_are_listed_newest_first(world: World, session: int, letters: dict[str, str]) -> None:
    world.add()
    world.complete(world.claim_one(session))
    world.cancel(world.add())
    page = world.dead()
    assert [job.id for job in page.jobs] == [letters[name] for name in ("expired", "plain", "sync", "mail")]
    assert page.total == 4
    assert {job.state for job in page.jobs} == {State.DEAD, State.EXPIRED}


def test_pages_and_how_many_match(world: World, letters: dict[str, str]) -> None:
    page = world.store.list_dead(ListDead(limit=2, offset=1)).wait()
    assert ([job.id for job in page.jobs], page.total) == ([letters["plain"], letters["sync"]], 4)


@pytest.mark.parametrize(
    ("filter", "names"),
    [
        ({"type": "mail"}, {"mail"}),
        ({"queue": "slow"}, {"mail"}),
        ({"tenant": "other"}, {"sync"}),
        ({"tenant": "acme", "workspace": "eu"}, {"mail"}),
        ({"tenant": "acme", "workspace": "us"}, set()),
        ({"tag": "red"}, {"sync"}),
        ({"tag": "red", "tenant": "acme"}, set()),
        ({"error": "timeout"}, {"mail", "plain"}),
        ({"error": "100%"}, {"sync"}),
        ({"error": "_"}, set()),
        ({"type": "sync", "tenant": "acme"}, set()),
        ({"type": "nothing"}, set()),
    ],
)
def test_every_filter_lists_retries_and_purges_alike(
    world: World, letters: dict[str, str], filter: dict[str, Any], names: set[str]
) -> None:
    wanted = {letters[name] for name in names}
    page = world.dead(**filter)
    assert ({job.id for job in page.jobs}, page.total) == (wanted, len(wanted))
    assert {old for old, _ in retry(world, **filter)} == wanted
    assert purge(world, **filter, retried=True) == len(wanted)
    assert {job.id for job in world.dead(retried=True).jobs} == set(letters.values()) - wanted


def test_older_than_a_moment(world: World, letters: dict[str, str]) -> None:
    finished_at = world.read(letters["plain"]).finished_at
    assert finished_at is not None
    before_us = int(finished_at.timestamp()) * 1_000_000
    assert {job.id for job in world.dead(before_us=before_us).jobs} == {letters["mail"], letters["sync"]}
    assert purge(world, before_us=before_us) == 2


def test_by_id(world: World, letters: dict[str, str]) -> None:
    ids = (letters["sync"], letters["expired"])
    assert {job.id for job in world.dead(ids=ids).jobs} == set(ids)
    assert world.dead(ids=()).total == 0


# Retry


def test_a_retry_is_a_new_job_linked_both_ways(world: World, session: int) -> None:
    old = world.add_dead(session, payload='{"x":1}', tenant=Tenant("acme"), tags=("red",), priority=9)
    ((old_id, new_id),) = retry(world, ids=(old,))
    assert old_id == old
    new, dead = world.read(new_id), world.read(old)
    assert (new.retried_from, dead.retried_as) == (old, new_id)
    assert (new.state, new.attempt, new.crashes) == (State.PENDING, 0, 0)
    assert (new.payload, new.tenant, new.tags) == ({"x": 1}, Tenant("acme"), ("red",))
    assert dead.state is State.DEAD
    assert [claim.id for claim in world.claim(session)] == [new_id]


def test_the_old_one_leaves_the_depth_but_stays(world: World, session: int) -> None:
    old = world.add_dead(session)
    retry(world, ids=(old,))
    assert world.dead().total == 0
    assert world.dead(retried=True).total == 1
    assert world.events(old) == ["fail", "retried"]


def test_the_types_current_options_are_used(world: World, session: int) -> None:
    declared = Options(queue="new", priority=7, policy=Policy(attempts=8))
    given = Options(queue="newer", unique=Unique("key"))
    old = world.add_dead(session, queue="old", policy=policy_text(attempts=1))
    world.register("other", declared={"task": declared})
    ((_, first),) = retry(world, ids=(old,))
    job = world.read(first)
    assert (job.queue, job.priority, job.max_attempts) == ("new", 7, 8)
    params = RetryDead(filter=DeadFilter(ids=(old,)), new_ids=[world.new_id()], types={"task": given}, force=True)
    ((_, second),) = world.store.retry_dead(params).wait().pairs
    assert (world.read(second).queue, world.read(second).keys) == ("newer", ())


def test_a_type_that_nobody_declared_is_retried_with_its_own_options(world: World, session: int) -> None:
    old = world.add_dead(session, queue="old", priority=4, policy=policy_text(attempts=9))
    ((_, new_id),) = retry(world, ids=(old,))
    job = world.read(new_id)
    assert (job.queue, job.priority, job.max_attempts, job.attempt) == ("old", 4, 9, 0)


def test_a_retry_needs_what_the_job_needed(world: World, session: int) -> None:
    needs = Resources(cpu=4)
    world.enqueue(world.new_job(capability="ml", resources=needs))
    (claim,) = world.claim(session, capabilities=("ml",), resources=needs)
    world.end(claim, Event.FAIL)
    ((_, new_id),) = retry(world, ids=(claim.id,))
    assert world.claim(session, capabilities=("ml",)) == []
    assert [claim.id for claim in world.claim(session, capabilities=("ml",), resources=needs)] == [new_id]


def test_at_most_one_per_new_id_the_oldest_first(world: World, letters: dict[str, str]) -> None:
    assert [old for old, _ in retry(world, count=2)] == [letters["mail"], letters["sync"]]
    assert [old for old, _ in retry(world, count=9)] == [letters["plain"], letters["expired"]]
    assert retry(world) == []


def test_more_named_ids_than_new_ids(world: World, letters: dict[str, str]) -> None:
    named = (letters["mail"], letters["sync"])
    assert [old for old, _ in retry(world, count=1, ids=named)] == [letters["mail"]]


def test_retried_before_is_refused_unless_forced(world: World, session: int) -> None:
    old = world.add_dead(session)
    ((_, first),) = retry(world, ids=(old,))
    with pytest.raises(AlreadyRetried, match=first):
        retry(world, ids=(old,))
    assert len(world.list_ids()) == 2
    ((_, second),) = retry(world, ids=(old,), force=True)
    assert world.read(old).retried_as == second
    assert world.read(second).retried_from == old


def test_an_already_retried_one_stops_the_whole_call(world: World, letters: dict[str, str]) -> None:
    retry(world, ids=(letters["plain"],))
    before = len(world.list_ids())
    with pytest.raises(AlreadyRetried):
        retry(world, ids=(letters["mail"], letters["plain"]))
    assert len(world.list_ids()) == before
    assert world.read(letters["mail"]).retried_as is None


def test_a_named_id_that_is_not_a_dead_letter(world: World, session: int, letters: dict[str, str]) -> None:
    alive, unknown = world.add(), world.new_id()
    for wrong in (alive, unknown):
        with pytest.raises(UnknownJob, match=wrong):
            retry(world, ids=(letters["mail"], wrong))
        with pytest.raises(UnknownJob, match=wrong):
            purge(world, ids=(letters["mail"], wrong))
    assert world.dead().total == 4
    assert world.state(alive) is State.PENDING


def test_a_retry_that_dies_again_is_a_dead_letter_of_its_own(world: World, session: int) -> None:
    old = world.add_dead(session)
    ((_, new_id),) = retry(world, ids=(old,))
    world.end(world.claim_one(session), Event.FAIL)
    assert [job.id for job in world.dead().jobs] == [new_id]


# Purge


def test_purged_for_good(world: World, session: int, letters: dict[str, str]) -> None:
    pending = world.add()
    assert purge(world, ids=(letters["mail"],)) == 1
    assert world.find(letters["mail"]) is None
    assert world.events(letters["mail"]) == []
    assert purge(world) == 3
    assert purge(world) == 0
    assert world.list_ids() == [pending]


def test_at_most_limit_a_call(world: World, letters: dict[str, str]) -> None:
    assert purge(world, limit=3) == 3
    assert [job.id for job in world.dead().jobs] == [letters["expired"]]


def test_more_named_ids_than_the_limit(world: World, letters: dict[str, str]) -> None:
    assert purge(world, limit=1, ids=(letters["mail"], letters["sync"])) == 1
    assert world.dead().total == 3
