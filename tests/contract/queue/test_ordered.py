"""Ordered keys: one after the other by their due times, each only when the one before it has ended for good."""

from __future__ import annotations

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Concurrency, Options
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, policy_text

LINE = Gate("key:line", 1, None, "key:line", True)
PLAIN = msgspec.structs.replace(LINE, ordered=False)
API = Gate("rate:api", 1, 10 * MICROSECONDS, "rate:api")


def new(world: World, *gates: Gate, **fields: object) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(**fields), gates=gates or (LINE,))


def add(world: World, *gates: Gate, **fields: object) -> str:
    return world.enqueue(new(world, *gates, **fields))[0].id


def ids(claims: list[p.Claim]) -> list[str]:
    return [claim.id for claim in claims]


def drain(world: World, session: int) -> list[str]:
    """Run all that can be run, one after the other."""
    seen: list[str] = []
    while claims := world.claim(session):
        assert len(claims) == 1
        seen += ids(claims)
        world.complete(*claims)
    return seen


# The order


def test_they_run_one_after_the_other_as_they_were_enqueued(world: World, session: int) -> None:
    jobs = [add(world) for _ in range(5)]
    assert drain(world, session) == jobs


def test_priority_type_and_queue_play_no_part(world: World, session: int) -> None:
    low = add(world, priority=-5)
    high = add(world, priority=5, type="send")
    other = add(world, priority=50, queue="mail")
    assert drain(world, session) == [low, high, other]


def test_jobs_of_one_call_run_in_its_order_whatever_they_are(world: World, session: int) -> None:
    kinds = [("a", 0), ("b", 9), ("a", 0), ("c", 5), ("b", 9), ("a", 7)]
    jobs = [new(world, type=type_, priority=priority) for type_, priority in kinds]
    world.enqueue(*jobs)
    assert drain(world, session) == [job.id for job in jobs]


def test_the_due_time_counts_before_the_enqueue(world: World, session: int) -> None:
    now = world.clock.now_us()
    late = add(world, at=now - 1 * MICROSECONDS)
    early = add(world, at=now - 5 * MICROSECONDS)
    middle, first = new(world, at=now - 3 * MICROSECONDS), new(world, at=now - 9 * MICROSECONDS)
    world.enqueue(middle, first)
    assert drain(world, session) == [first.id, early, middle.id, late]


def test_one_that_is_scheduled_for_later_holds_up_nobody(world: World, session: int) -> None:
    later = add(world, delay=60.0)
    both = [new(world, delay=30.0), new(world)]
    world.enqueue(*both)
    now = add(world)
    assert drain(world, session) == [both[1].id, now]
    world.clock.advance(61.0)
    after = add(world)
    assert drain(world, session) == [both[0].id, later, after]


def test_keys_do_not_hinder_each_other_nor_jobs_without(world: World, session: int) -> None:
    one, _ = add(world), add(world)
    other = add(world, msgspec.structs.replace(LINE, name="key:other"))
    plain = world.add()
    assert ids(world.claim(session)) == [one, other, plain]


def test_many_of_one_call_are_let_through_in_order(world: World, session: int) -> None:
    jobs = [new(world) for _ in range(40)]
    world.enqueue(*jobs)
    assert drain(world, session) == [job.id for job in jobs]


def test_another_handle_sees_the_same_line(world: World, session: int, open_again: OpenAgain) -> None:
    other = open_again()
    one, two, three = add(world), add(other), add(world)
    (held,) = other.claim(session)
    assert (held.id, world.claim(session)) == (one, [])
    world.complete(held)
    assert drain(other, session) == [two, three]


# Only the end lets the next one through


@pytest.mark.parametrize("event", [Event.BACK_OFF, Event.RELEASE])
def test_one_that_waits_for_its_next_attempt_keeps_those_behind_it_waiting(
    world: World, session: int, event: Event
) -> None:
    first, second = add(world), add(world)
    (held,) = world.claim(session)
    assert world.claim(session) == []
    delay = 60.0 if event is Event.BACK_OFF else 0.0
    world.end(held, event, delay=delay)
    third = add(world, priority=9)
    world.store.tend_gates(p.TendGates()).wait()
    if delay:
        assert world.claim(session) == []
        assert [world.state(job) for job in (first, second, third)] == [State.SCHEDULED, State.BLOCKED, State.BLOCKED]
        world.clock.advance(61.0)
    assert drain(world, session) == [first, second, third]


@pytest.mark.parametrize("event", [Event.FAIL, Event.CANCEL])
def test_any_end_for_good_lets_the_next_one_through(world: World, session: int, event: Event) -> None:
    add(world)
    second = add(world)
    (held,) = world.claim(session)
    assert world.claim(session) == []
    world.end(held, event)
    assert ids(world.claim(session)) == [second]


@pytest.mark.parametrize("keep", [True, False])
def test_one_that_is_removed_when_it_ends_leaves_nothing_in_the_line(world: World, session: int, keep: bool) -> None:
    add(world)
    (held,) = world.claim(session)
    world.complete(held, keep=keep)
    second, third = add(world), add(world)
    assert drain(world, session) == [second, third]


def test_a_lost_worker_keeps_the_line_and_its_job_is_still_first(world: World, session: int) -> None:
    first, second = add(world, policy=policy_text(attempts=2)), add(world)
    world.claim(session)
    other = world.register("other")
    assert world.claim(other) == []
    world.clock.advance(3600.0)
    other = world.register("third")
    world.recover()
    assert world.claim(other) == []
    world.clock.advance(10.0)
    world.heartbeat(other)
    assert drain(world, other) == [first, second]


def test_a_lost_job_without_another_attempt_lets_the_next_one_through(world: World, session: int) -> None:
    first, second = add(world, policy=policy_text(attempts=1)), add(world)
    world.claim(session)
    world.clock.advance(3600.0)
    other = world.register("other")
    world.recover()
    assert (world.state(first), drain(world, other)) == (State.DEAD, [second])


def test_a_start_timeout_keeps_the_place(world: World, session: int) -> None:
    first, second = add(world), add(world)
    world.claim(session)
    world.clock.advance(400.0)
    world.heartbeat(session)
    world.store.give_back_jobs(p.GiveBackJobs(300.0)).wait()
    assert drain(world, session) == [first, second]


# Those who wait


@pytest.mark.parametrize("waits", ["ready", "retry", "parked", "scheduled"])
def test_a_cancelled_job_leaves_the_line(world: World, session: int, waits: str) -> None:
    first, second = add(world, delay=5.0 if waits == "scheduled" else 0.0), add(world, delay=6.0)
    if waits == "retry":
        (held,) = world.claim(session)
        world.end(held, Event.BACK_OFF, delay=3600.0)
    world.clock.advance(3.0 if waits == "scheduled" else 7.0)
    if waits == "parked":
        (held,) = world.claim(session)
        third = add(world)
        assert world.claim(session) == []
        world.cancel(second)
        world.complete(held)
        assert (held.id, drain(world, session)) == (first, [third])
        return
    if waits == "retry":
        assert world.claim(session) == []
    world.cancel(first)
    world.clock.advance(5.0)
    assert drain(world, session) == [second]


@pytest.mark.parametrize("waits", ["parked", "ready"])
def test_one_that_expires_leaves_the_line(world: World, session: int, waits: str) -> None:
    if waits == "parked":
        (held,) = (add(world), world.claim(session))[1]
    first = add(world, ttl=10.0, policy=policy_text(ttl=10.0), type="strange")
    second = add(world)
    assert world.claim(session, types=("task",)) == []
    world.clock.advance(11.0)
    world.heartbeat(session)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.state(first) is State.EXPIRED
    if waits == "parked":
        assert world.claim(session) == []
        world.complete(held)
    assert drain(world, session) == [second]


def test_one_that_nobody_can_run_and_that_fails_for_it_leaves_the_line(world: World, session: int) -> None:
    first, second = add(world, type="strange"), add(world)
    assert world.claim(session, types=("task",)) == []
    fail = p.FailUnroutable(
        type="strange", queue="default", capability="general", resources=NO_RESOURCES, reason="nobody runs it"
    )
    assert world.store.fail_unroutable(fail).wait().ids == [first]
    assert ids(world.claim(session, types=("task",))) == [second]


def test_a_paused_one_keeps_those_behind_it_waiting(world: World, session: int) -> None:
    first, second = add(world, queue="mail"), add(world)
    world.pause("queue", "mail", force=True)
    assert world.claim(session) == []
    world.resume("queue", "mail")
    assert drain(world, session) == [first, second]


def test_a_dead_letter_that_is_retried_joins_the_end(world: World, session: int) -> None:
    options = Options(limit=Concurrency("line", 1, ordered=True))
    dead, second = add(world), add(world)
    (held,) = world.claim(session)
    world.end(held, Event.FAIL)
    again = world.new_id()
    retry = p.RetryDead(filter=p.DeadFilter(ids=(dead,)), new_ids=(again,), types={"task": options})
    world.store.retry_dead(retry).wait()
    assert drain(world, session) == [second, again]


def test_a_blocked_job_is_read_with_its_reason(world: World, session: int) -> None:
    add(world)
    second = add(world)
    world.claim(session)
    assert "'line' allows 1 at once, in order" in str(world.read(second).reason)


def test_no_more_than_the_worker_can_begin(world: World, session: int) -> None:
    first, second = add(world), add(world)
    plain = world.add()
    assert ids(world.claim(session, 10, at_once=0)) == [plain]
    assert drain(world, session) == [first, second]


def test_an_enqueue_that_is_sent_again_changes_no_place(world: World, session: int) -> None:
    first, second, third = new(world), new(world), new(world)
    world.enqueue(first)
    world.enqueue(second)
    assert [one.created for one in world.enqueue(first)] == [False]
    assert [one.created for one in world.enqueue(third, third)] == [True, False]
    assert drain(world, session) == [first.id, second.id, third.id]


def test_one_that_waits_for_a_rate_stays_first(world: World, session: int) -> None:
    add(world, API)
    assert len(world.claim(session)) == 1
    first, second = add(world, LINE, API), add(world)
    assert world.claim(session) == []
    world.clock.advance(10.1)
    assert drain(world, session) == [first, second]


def test_in_a_transaction_of_the_callers(world: World, session: int) -> None:
    first = add(world)
    with world.store.transaction() as tx:
        jobs = [new(world, priority=9), new(world)]
        world.store.enqueue_jobs(p.EnqueueJobs(jobs, tx)).wait()
    assert drain(world, session) == [first, *(job.id for job in jobs)]


def test_a_follow_up_joins_the_line_when_it_is_stored(world: World, session: int) -> None:
    first, second = add(world), add(world)
    (held,) = world.claim(session)
    follow_up = new(world, priority=9)
    done = p.Completed(held.token, world.clock.now_us())
    world.store.finish_jobs(p.FinishJobs(completed=[done], follow_ups=[(held.token, follow_up)])).wait()
    assert (held.id, drain(world, session)) == (first, [second, follow_up.id])


# Declarations


def test_a_key_that_is_ordered_here_and_not_there_is_an_error_that_names_both(world: World) -> None:
    add(world)
    with pytest.raises(ConfigError, match="'line' has two limits: 1 at once, in order by 'line', and 1 at once by"):
        add(world, msgspec.structs.replace(PLAIN, origin="key:{name}"))
    assert len(world.list_ids()) == 1


def test_jobs_of_before_the_key_was_ordered_are_lined_up_too(world: World, session: int) -> None:
    (held, *_) = [add(world, PLAIN) for _ in range(3)]
    (claim,) = world.claim(session)
    assert claim.id == held
    waiting = [job.id for job in world.store.list_jobs(p.ListJobs(states=frozenset({State.BLOCKED}))).wait()]
    assert len(waiting) + len(world.list_ids(states=frozenset({State.PENDING}))) == 2
    last = add(world, priority=9)
    world.complete(claim)
    seen = drain(world, session)
    assert (len(seen), seen[-1]) == (3, last)


def test_jobs_of_a_key_that_is_ordered_no_more_all_run(world: World, session: int) -> None:
    jobs = [add(world) for _ in range(3)]
    (held,) = world.claim(session)
    world.end(held, Event.BACK_OFF, delay=60.0)
    jobs.append(add(world, PLAIN))
    seen = drain(world, session)
    assert sorted(seen) == sorted(jobs[1:])
    world.clock.advance(61.0)
    assert drain(world, session) == jobs[:1]


def test_what_nobody_needs_is_forgotten_and_the_order_holds(world: World, session: int) -> None:
    first = add(world)
    later = add(world, delay=20.0)
    world.complete(*world.claim(session))
    for _ in range(2):
        world.clock.advance(5.0)
        world.store.tend_gates(p.TendGates()).wait()
    last = add(world, delay=20.0)
    world.clock.advance(21.0)
    assert (world.state(first), drain(world, session)) == (State.COMPLETED, [later, last])
