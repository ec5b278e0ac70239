"""Unique keys: at most one job per key while it is held, whoever asks and however many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.domain.job import Event, State
from penstock.domain.options import Tenant, Unique, UniqueScope
from penstock.store.contract import Enqueued
from tests.contract.conftest import OpenAgain
from tests.contract.world import World

RIVALS = 20
RIVALS_PER_STORE = 4


def race(worlds: list[World], unique: Unique) -> list[Enqueued]:
    """What each of the rivals is told, who all ask in the same moment."""
    together = threading.Barrier(RIVALS)

    def ask(number: int) -> Enqueued:
        mine = worlds[number % len(worlds)]
        job = mine.new_job(unique=unique)
        together.wait(30)
        [told] = mine.enqueue(job)
        return told

    with ThreadPoolExecutor(RIVALS) as pool:
        return list(pool.map(ask, range(RIVALS)))


def assert_one_winner(told: list[Enqueued]) -> str:
    [winner] = [one.id for one in told if one.created]
    assert {one.id for one in told} == {winner}
    return winner


@pytest.fixture
def rivals(world: World, open_again: OpenAgain) -> list[World]:
    """Stores of their own, as processes would have them, and several threads on each."""
    return [world, *(open_again() for _ in range(RIVALS // RIVALS_PER_STORE - 1))]


def test_a_unique_key_answers_the_job_that_holds_it(world: World, open_again: OpenAgain) -> None:
    first = world.add(unique=Unique("key"))
    other = world.new_job(unique=Unique("other"))
    second = world.new_job(unique=Unique("key"))
    assert open_again().enqueue(second, other) == [Enqueued(first, False), Enqueued(other.id, True)]
    assert world.find(second.id) is None


def test_a_unique_key_twice_in_one_call_is_one_job(world: World) -> None:
    first, second = world.new_job(unique=Unique("key")), world.new_job(unique=Unique("key"))
    assert world.enqueue(first, second) == [Enqueued(first.id, True), Enqueued(first.id, False)]
    assert world.list_ids() == [first.id]


def test_without_a_period_a_job_holds_its_key_until_it_ends(world: World, session: int) -> None:
    first = world.add(unique=Unique("key"), delay=5.0)

    def held() -> bool:
        return world.enqueue(world.new_job(unique=Unique("key"))) == [Enqueued(first, False)]

    assert held()
    world.clock.advance(5)
    assert held()
    claim = world.claim_one(session)
    assert held()
    world.start(claim)
    assert held()
    world.end(claim, Event.BACK_OFF, delay=1.0)
    assert held()
    world.clock.advance(1)
    world.complete(world.claim_one(session))
    assert not held()


@pytest.mark.parametrize("ending", [Event.COMPLETE, Event.FAIL, Event.CANCEL])
@pytest.mark.parametrize("keep", [True, False])
def test_every_ending_frees_the_key(world: World, session: int, ending: Event, keep: bool) -> None:
    world.add(unique=Unique("key"))
    claim = world.claim_one(session)
    if ending is Event.COMPLETE:
        world.complete(claim, keep=keep)
    else:
        world.end(claim, ending, keep=keep)
    again = world.new_job(unique=Unique("key"))
    assert world.enqueue(again) == [Enqueued(again.id, True)]


@pytest.mark.parametrize("keep", [True, False])
def test_with_a_period_the_key_is_held_beyond_the_end_of_its_job(world: World, session: int, keep: bool) -> None:
    first = world.add(unique=Unique("key", per=60))
    world.complete(world.claim_one(session), keep=keep)
    world.clock.advance(59)
    assert world.enqueue(world.new_job(unique=Unique("key", per=60))) == [Enqueued(first, False)]
    world.clock.advance(2)
    later = world.new_job(unique=Unique("key", per=60))
    assert world.enqueue(later) == [Enqueued(later.id, True)]


# Many at once


def never_held(world: World, session: int, unique: Unique) -> None:
    """Nobody has ever asked for the key."""


def holder_has_ended(world: World, session: int, unique: Unique) -> None:
    world.add(unique=unique)
    world.complete(world.claim_one(session))
    if unique.per is not None:
        world.clock.advance(unique.per)


def holder_was_removed(world: World, session: int, unique: Unique) -> None:
    world.add(unique=unique)
    world.complete(world.claim_one(session), keep=False)
    if unique.per is not None:
        world.clock.advance(unique.per)


@pytest.mark.parametrize("before", [never_held, holder_has_ended, holder_was_removed])
@pytest.mark.parametrize("per", [None, 60.0])
def test_of_many_who_ask_at_once_one_makes_a_job_and_all_are_told_which(
    world: World, session: int, rivals: list[World], before: Callable[[World, int, Unique], None], per: float | None
) -> None:
    unique = Unique("key", per)
    before(world, session, unique)
    winner = assert_one_winner(race(rivals, unique))
    assert world.list_ids(states=frozenset({State.PENDING})) == [winner]


def test_many_who_ask_for_a_key_that_is_held_are_all_told_the_holder(world: World, rivals: list[World]) -> None:
    holder = world.add(unique=Unique("key"))
    assert race(rivals, Unique("key")) == [Enqueued(holder, False)] * RIVALS


def test_bulks_with_the_same_keys_in_other_orders_get_past_each_other(world: World, rivals: list[World]) -> None:
    together = threading.Barrier(len(rivals))

    def ask(mine: World) -> list[Enqueued]:
        keys = [f"key{number}" for number in range(10)]
        jobs = [mine.new_job(unique=Unique(key)) for key in (keys if mine is world else reversed(keys))]
        together.wait(30)
        told = mine.enqueue(*jobs)
        return told if mine is world else told[::-1]

    with ThreadPoolExecutor(len(rivals)) as pool:
        answers = list(pool.map(ask, rivals))
    assert len({tuple(one.id for one in told) for told in answers}) == 1
    assert sum(one.created for told in answers for one in told) == 10


# Among whom


@pytest.mark.parametrize(
    ("scope", "same", "other"),
    [
        ("type", {"queue": "b", "tenant": Tenant("b")}, {"type": "other"}),
        ("queue", {"type": "other", "tenant": Tenant("b")}, {"queue": "b"}),
        ("tenant", {"type": "other", "queue": "b", "tenant": Tenant("a", "eu")}, {"tenant": Tenant("b")}),
    ],
)  # fmt: skip
def test_a_key_is_unique_within_its_scope(
    world: World, scope: UniqueScope, same: dict[str, object], other: dict[str, object]
) -> None:
    base: dict[str, object] = {"type": "task", "queue": "a", "tenant": Tenant("a"), "unique": Unique("k", scope=scope)}
    holder, first = world.new_job(**base), world.new_job(**{**base, **other})
    assert world.enqueue(holder, first) == [Enqueued(holder.id, True), Enqueued(first.id, True)]
    assert world.enqueue(world.new_job(**{**base, **same})) == [Enqueued(holder.id, False)]
    assert world.enqueue(world.new_job(**{**base, **other})) == [Enqueued(first.id, False)]


def test_scopes_do_not_share_keys(world: World) -> None:
    everywhere = {"type": "a", "queue": "a", "tenant": Tenant("a")}
    scopes: tuple[UniqueScope, ...] = ("all", "type", "queue", "tenant")
    told = world.enqueue(*(world.new_job(unique=Unique("k", scope=scope), **everywhere) for scope in scopes))
    assert [one.created for one in told] == [True] * 4


def test_no_name_of_a_tenant_reaches_into_the_keys_of_another(world: World) -> None:
    names = [("a", "b: c"), ("a: b", "c"), ('a": b', "c"), ("a", '": b": c')]
    told = world.enqueue(*(world.new_job(tenant=Tenant(org), unique=Unique(k, scope="tenant")) for org, k in names))
    assert [one.created for one in told] == [True] * len(names)
