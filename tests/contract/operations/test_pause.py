"""Paused queues and types: no claim gives out a job of theirs, in any process; everything else goes on (L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from penstock.domain.errors import ConfigError, UnknownQueue, UnknownType
from penstock.domain.flow.gates import Gate
from penstock.domain.flow.pauses import Pause, PauseKind
from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Options
from penstock.store import contract as p
from penstock.store.contract import Listener
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.queue.test_listen import NEVER_POLL, heard_after, register_with_bell
from tests.contract.world import World

Both = pytest.mark.parametrize(("kind", "name"), [("queue", "mail"), ("type", "send")])


def add_both(world: World) -> tuple[str, str]:
    """A job that the tests pause, and one that has nothing to do with it."""
    return world.add(type="send", queue="mail"), world.add(type="other", queue="rest")


def ids(claims: list[p.Claim]) -> list[str]:
    return [claim.id for claim in claims]


# Pausing


@Both
def test_a_paused_job_is_not_given_out_and_everything_else_is(
    world: World, session: int, kind: PauseKind, name: str
) -> None:
    held, free = add_both(world)
    world.pause(kind, name)
    assert ids(world.claim(session)) == [free]
    assert world.state(held) is State.PENDING
    world.resume(kind, name)
    assert ids(world.claim(session)) == [held]


@Both
def test_a_pause_is_seen_by_those_who_have_claimed_before(
    world: World, open_again: OpenAgain, session: int, kind: PauseKind, name: str
) -> None:
    """Each handle is a process that remembers what it saw: the pause was committed behind its back."""
    other = open_again()
    others = other.register("other")
    for claimer, number in ((world, session), (other, others)):
        add_both(world)
        assert len(claimer.claim(number)) == 2
    held, free = add_both(world)
    open_again().pause(kind, name)
    assert ids(world.claim(session)) == [free]
    assert other.claim(others) == []
    open_again().resume(kind, name)
    assert ids(other.claim(others)) == [held]


@Both
def test_what_is_enqueued_returned_or_becomes_due_while_paused_waits_too(
    world: World, session: int, kind: PauseKind, name: str
) -> None:
    for _ in range(2):
        add_both(world)
    retried, released = (claim for claim in world.claim(session) if claim.type == "send")
    world.pause(kind, name)
    world.end(retried, Event.BACK_OFF, delay=5.0)
    world.end(released, Event.RELEASE)
    fresh, later = world.add(type="send", queue="mail"), world.add(type="send", queue="mail", delay=5.0)
    world.clock.advance(6)
    assert world.claim(session) == []
    assert {world.state(job) for job in (retried.id, released.id, fresh, later)} == {State.PENDING}
    world.resume(kind, name)
    assert sorted(ids(world.claim(session))) == sorted([retried.id, released.id, fresh, later])


def test_running_jobs_go_on(world: World, session: int) -> None:
    job = world.add(queue="mail")
    claim = world.claim_one(session)
    world.pause("queue", "mail")
    assert world.start(claim) == []
    assert world.complete(claim) == []
    assert world.state(job) is State.COMPLETED


def test_a_job_whose_queue_and_type_are_paused_waits_for_both(world: World, session: int) -> None:
    job = world.add(type="send", queue="mail")
    world.pause("queue", "mail")
    world.pause("type", "send")
    world.resume("queue", "mail")
    assert world.claim(session) == []
    world.resume("type", "send")
    assert ids(world.claim(session)) == [job]


def test_a_queue_and_a_type_of_one_name_are_two_things(world: World, session: int) -> None:
    by_queue, by_type = world.add(queue="same"), world.add(type="same")
    world.pause("queue", "same")
    assert ids(world.claim(session)) == [by_type]
    world.resume("queue", "same")
    assert ids(world.claim(session)) == [by_queue]


def test_the_order_of_the_rest_stays_with_many_types_some_of_them_paused(world: World, session: int) -> None:
    jobs = [world.add(type=f"type{number % 20}", queue=f"queue{number % 3}") for number in range(120)]
    world.pause("type", *(f"type{number}" for number in range(0, 20, 2)))
    world.pause("queue", "queue1")
    expected = [job for number, job in enumerate(jobs) if number % 2 and number % 3 != 1]
    assert [job for _ in range(5) for job in ids(world.claim(session, 10))] == expected[:50]


# What a pause says of itself


def test_a_pause_is_listed_with_who_when_and_why(world: World, carry_out: CarryOut) -> None:
    add_both(world)
    now = world.clock.now_us()
    asked = p.PauseWork(kind="queue", names=("mail",), actor="ann", reason="the provider is down")
    pause = Pause("queue", "mail", now, "ann", "the provider is down")
    assert carry_out(world.store.pause_work(asked)) == [p.Switched("mail", True, pause)]
    world.pause("type", "send", actor="bob")
    assert carry_out(world.store.list_pauses()) == [pause, Pause("type", "send", now, "bob")]


def test_pausing_again_keeps_the_first_and_says_so(world: World) -> None:
    add_both(world)
    (first,) = world.pause("queue", "mail", actor="ann", reason="first")
    world.clock.advance(9)
    assert world.pause("queue", "mail", actor="bob", reason="second") == [p.Switched("mail", False, first.pause)]


def test_several_are_switched_at_once_and_each_says_what_became_of_it(world: World) -> None:
    add_both(world)
    world.pause("queue", "mail")
    assert [(one.name, one.changed) for one in world.pause("queue", "rest", "mail", "rest")] == [
        ("rest", True), ("mail", False),
    ]  # fmt: skip
    assert [(one.name, one.changed) for one in world.resume("queue", "mail", "rest")] == [
        ("mail", True),
        ("rest", True),
    ]
    assert world.store.list_pauses().wait() == []


def test_resuming_what_is_not_paused_says_so(world: World) -> None:
    add_both(world)
    assert world.resume("queue", "mail") == [p.Switched("mail", False, None)]


# Names


@pytest.mark.parametrize("act", [World.pause, World.resume])
@pytest.mark.parametrize(("kind", "error", "known"), [("queue", UnknownQueue, "mail, rest"),
                                                      ("type", UnknownType, "other, send")])  # fmt: skip
def test_an_unknown_name_is_an_error_that_lists_the_known_and_changes_nothing(
    world: World, act: Callable[..., object], kind: PauseKind, error: type[Exception], known: str
) -> None:
    add_both(world)
    known_one = known.split(", ")[0]
    with pytest.raises(error, match=f"no {kind} is named 'mial' in this store; known are: {known}"):
        act(world, kind, known_one, "mial")
    assert world.store.list_pauses().wait() == []


def test_a_new_store_knows_no_queue(world: World) -> None:
    with pytest.raises(UnknownQueue, match="the store knows none yet; to pause one that is yet to come: --force"):
        world.pause("queue", "mail")


def test_what_workers_declare_and_serve_is_known(world: World) -> None:
    world.register(types=("served",), queues=("their",), declared={"declared": Options(queue="home")})
    assert all(one.changed for one in world.pause("queue", "their", "home"))
    assert all(one.changed for one in world.pause("type", "served", "declared"))


def test_a_queue_that_is_to_come_can_be_paused_by_force(world: World, session: int) -> None:
    world.pause("queue", "mail", force=True)
    world.add(queue="mail")
    assert world.claim(session) == []
    assert [one.changed for one in world.resume("queue", "mail")] == [True]


def test_a_forced_pause_can_be_ended_before_its_queue_has_come(world: World) -> None:
    world.pause("queue", "mail", force=True)
    assert [one.changed for one in world.resume("queue", "mail")] == [True]


@pytest.mark.parametrize("names", [(), ("",), ("two words",), ("x" * 300,)])
def test_names_that_nothing_can_have_are_refused_also_by_force(world: World, names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="queue"):
        world.pause("queue", *names, force=True)


# Everything else that happens to waiting jobs


def test_a_paused_job_counts_as_pending_and_can_be_cancelled(world: World) -> None:
    job, _ = add_both(world)
    world.pause("queue", "mail")
    counts = {(count.queue, count.state): count.jobs for count in world.store.count_jobs().wait()}
    assert counts == {("mail", State.PENDING): 1, ("rest", State.PENDING): 1}
    assert [one.queue for one in world.store.count_waiting(p.CountWaiting()).wait()] == ["rest", "mail"]
    assert world.cancel(job).after is State.CANCELLED


@pytest.mark.parametrize("by_claim", [True, False])
def test_a_paused_job_expires(world: World, session: int, by_claim: bool) -> None:
    job = world.add(queue="mail", ttl=10)
    assert world.claim(session, types=("nothing",)) == []
    world.pause("queue", "mail")
    world.clock.advance(11)
    if by_claim:
        assert world.claim(session) == []
    else:
        world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.state(job) is State.EXPIRED


@Both
def test_a_paused_job_is_not_failed_for_want_of_a_worker(world: World, kind: PauseKind, name: str) -> None:
    job, _ = add_both(world)
    lane = p.FailUnroutable(
        type="send", queue="mail", capability="general", resources=NO_RESOURCES, reason="no workers available"
    )
    world.pause(kind, name)
    assert world.store.fail_unroutable(lane).wait().ids == []
    world.resume(kind, name)
    assert world.store.fail_unroutable(lane).wait().ids == [job]


def test_a_claim_beside_paused_jobs_does_not_wait_for_them(world: World, session: int) -> None:
    """The next moment at which there may be something is not that of a paused job."""
    world.add(queue="mail")
    world.add(queue="rest", delay=60)
    world.pause("queue", "mail")
    claimed = world.store.claim_jobs(p.ClaimJobs(session, 5)).wait()
    assert (claimed.jobs, claimed.next_due_at) == ([], world.clock.now_us() + 60_000_000)


# Waking


def test_resuming_wakes_those_who_wait(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    other.add(queue="mail")
    other.pause("queue", "mail")
    world.clock.advance(1.0)  # Who listens is looked up anew now and then.

    async def act(listener: Listener) -> None:
        await asyncio.to_thread(register_with_bell, world, listener)
        await asyncio.to_thread(other.resume, "queue", "mail")

    assert asyncio.run(heard_after(world, NEVER_POLL, act))


# Counting


def test_open_jobs_are_counted_by_queue_and_type(world: World, session: int, carry_out: CarryOut) -> None:
    now = world.clock.now_us()
    world.add_many(5, type="send", queue="mail")
    started, held, tried, done = world.claim(session, 4)
    world.start(started)
    world.complete(done)
    world.add(type="send", queue="mail", delay=60)
    world.end(tried, Event.BACK_OFF, delay=60)
    world.cancel(world.add(type="other", queue="rest"))
    assert held.type == "send"
    key = Gate("key:a", 1, None, "key:a")
    kept = [msgspec.structs.replace(world.new_job(type="kept", queue="zoo"), gates=(key,)) for _ in range(3)]
    world.enqueue(*kept)
    assert carry_out(world.store.count_open()) == [
        p.OpenJobs(type="send", queue="mail", pending=1, scheduled=2, retrying=1, running=2, oldest_due_at=now),
        p.OpenJobs(type="other", queue="rest"),
        p.OpenJobs(type="kept", queue="zoo", pending=1, blocked=2, oldest_due_at=now),
    ]
    world.clock.advance(61)
    mail = world.store.count_open().wait()[0]
    assert (mail.pending, mail.scheduled, mail.retrying, mail.oldest_due_at) == (3, 0, 0, now)
