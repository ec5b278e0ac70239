"""Limits hold whatever happens, what is over them waits aside, and goes on as soon as there is room."""

from __future__ import annotations

import msgspec
import pytest

from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Gate, Limit
from penstock.domain.job import Event, State
from penstock.domain.options import Unique
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.world import World, plain, policy_text


def key(name: str, most: int = 1, origin: str | None = None) -> Gate:
    return Gate(f"key:{name}", most, None, f"key:{origin or name}")


def rate(name: str, most: int, seconds: float, origin: str | None = None) -> Gate:
    return Gate(f"rate:{name}", most, int(seconds * MICROSECONDS), f"rate:{origin or name}")


def add(world: World, *gates: Gate, count: int = 1, **fields: object) -> list[str]:
    """Enqueue jobs with these gates in one call."""
    one = world.new_job(**fields)
    jobs = [msgspec.structs.replace(one, id=world.new_id(), gates=gates) for _ in range(count)]
    return [new.id for new in world.enqueue(*jobs)]


def ids(claims: list[p.Claim]) -> list[str]:
    return [claim.id for claim in claims]


# At once


def test_no_more_than_its_number_are_held_at_once(world: World, session: int) -> None:
    jobs = add(world, key("store:7", 2), count=5)
    first = world.claim(session)
    assert ids(first) == jobs[:2]
    assert world.claim(session) == []
    assert [world.state(job) for job in jobs[2:]] == [State.BLOCKED] * 3
    world.complete(first[0])
    assert ids(world.claim(session)) == [jobs[2]]


def test_whoever_comes_later_does_not_overtake_those_who_wait(world: World, session: int) -> None:
    first, second = add(world, key("a"), count=2)
    (held,) = world.claim(session)
    (third,) = add(world, key("a"))
    assert world.claim(session) == []
    world.complete(held)
    (next_one,) = world.claim(session)
    assert (held.id, next_one.id) == (first, second)
    world.complete(next_one)
    assert ids(world.claim(session)) == [third]


def test_of_those_who_wait_the_higher_priority_goes_first(world: World, session: int) -> None:
    add(world, key("a"))
    (held,) = world.claim(session)
    (low,) = add(world, key("a"), priority=0)
    (high,) = add(world, key("a"), priority=5)
    assert world.claim(session) == []
    world.complete(held)
    (found,) = world.claim(session)
    assert found.id == high
    world.complete(found)
    assert ids(world.claim(session)) == [low]


def test_keys_do_not_hinder_each_other_nor_jobs_without(world: World, session: int) -> None:
    (one, _) = add(world, key("a"), count=2)
    (other,) = add(world, key("b"))
    plain = world.add()
    assert ids(world.claim(session)) == [one, other, plain]


def test_a_key_spans_types_and_queues(world: World, session: int) -> None:
    (one,) = add(world, key("a"), type="send", queue="mail")
    (two,) = add(world, key("a"), type="sync")
    (held,) = world.claim(session)
    assert held.id == one
    world.complete(held)
    assert ids(world.claim(session)) == [two]


def test_a_job_that_nobody_can_run_does_not_keep_the_key_from_others(world: World, session: int) -> None:
    add(world, key("a"), type="strange", count=3)
    (mine,) = add(world, key("a"), type="task")
    world.store.tend_gates(p.TendGates()).wait()
    assert ids(world.claim(session, types=("task",))) == [mine]


def test_all_gates_of_a_job_must_have_room(world: World, session: int) -> None:
    (one,) = add(world, key("a", 5), key("b"))
    (two,) = add(world, key("b"), key("a", 5))
    (held,) = world.claim(session)
    assert (held.id, world.state(two)) == (one, State.BLOCKED)
    assert len(add(world, key("a", 5), count=6)) == 6
    assert len(world.claim(session)) == 4  # With the one that is held: five.


@pytest.mark.parametrize("event", [Event.RELEASE, Event.BACK_OFF, Event.FAIL, Event.CANCEL])
def test_every_end_of_an_attempt_makes_room(world: World, session: int, event: Event) -> None:
    _, waiting = add(world, key("a"), count=2)
    (held,) = world.claim(session)
    assert world.claim(session) == []
    world.end(held, event, delay=60.0)
    assert ids(world.claim(session, 1)) in ([waiting], [held.id])


def test_a_lost_worker_holds_its_key_until_it_is_declared_lost(world: World, session: int) -> None:
    _, waiting = add(world, key("a"), count=2)
    world.claim(session)
    world.clock.advance(3600.0)
    other = world.register("other")
    assert world.claim(other) == []
    world.recover()
    assert waiting in ids(world.claim(other))


def test_a_start_timeout_makes_room(world: World, session: int) -> None:
    add(world, key("a"), count=2)
    (held,) = world.claim(session)
    world.clock.advance(400.0)
    world.heartbeat(session)
    world.store.give_back_jobs(p.GiveBackJobs(300.0)).wait()
    assert len(world.claim(session)) == 1
    assert world.complete(held) == [held.token]


def test_a_blocked_job_can_be_cancelled_and_is_read_with_its_reason(world: World, session: int) -> None:
    held, waiting = add(world, key("store:7"), count=2)
    world.claim(session)
    found = world.read(waiting)
    assert (found.state, found.keys) == (State.BLOCKED, ("store:7",))
    assert "'store:7' allows 1 at once" in str(found.reason)
    assert world.list_ids(states=frozenset({State.BLOCKED})) == [waiting]
    assert world.list_ids(states=frozenset({State.PENDING})) == []
    assert {count.state: count.jobs for count in world.store.count_jobs().wait()} == {
        State.CLAIMED: 1,
        State.BLOCKED: 1,
    }
    assert plain(world.cancel(waiting)) == p.Cancelled(State.BLOCKED, State.CANCELLED)
    assert world.state(held) is State.CLAIMED
    assert world.claim(session) == []


def test_a_cancelled_job_that_was_next_leaves_its_place_to_another(world: World, session: int) -> None:
    first, second = add(world, key("a"), count=2)
    world.cancel(first)
    assert ids(world.claim(session)) == [second]


def test_a_blocked_job_expires(world: World, session: int) -> None:
    _, waiting = add(world, key("a"), count=2, ttl=10.0, policy=policy_text(ttl=10.0))
    world.claim(session)
    world.clock.advance(11.0)
    world.heartbeat(session)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.state(waiting) is State.EXPIRED
    assert world.claim(session) == []


def test_jobs_that_become_due_and_jobs_that_are_tried_again_pass_the_gate_too(world: World, session: int) -> None:
    add(world, key("a"), count=2, delay=5.0)
    world.clock.advance(6.0)
    (held,) = world.claim(session)
    assert world.claim(session) == []
    world.end(held, Event.BACK_OFF, delay=0.0)
    assert len(world.claim(session)) == 1
    assert world.claim(session) == []


def test_no_more_limited_jobs_than_the_worker_can_begin(world: World, session: int) -> None:
    limited = add(world, key("a", 10), count=4)
    plain = world.add_many(2)
    assert ids(world.claim(session, 10, at_once=2)) == [*limited[:2], *plain]
    assert ids(world.claim(session, 10, at_once=0)) == []
    assert ids(world.claim(session, 10, at_once=10)) == limited[2:]


def test_a_number_that_changes_while_jobs_wait(world: World, session: int) -> None:
    add(world, key("a", 1), count=5)
    assert len(world.claim(session)) == 1
    add(world, key("a", 3))
    assert len(world.claim(session)) == 2
    add(world, key("a", 1))
    assert world.claim(session) == []


def test_two_numbers_for_one_key_are_an_error_that_names_both(world: World) -> None:
    add(world, key("store:7", 1, "store:{store_id}"))
    with pytest.raises(
        ConfigError, match=r"'store:7' has two limits: 1 at once by 'store:\{store_id\}', and 2 at once"
    ):
        add(world, key("store:7", 2, "store:{id}"))
    assert len(world.list_ids()) == 1


def test_two_numbers_for_one_key_in_one_call_are_refused_too(world: World) -> None:
    gates = [key("store:7", 1, "store:{store_id}"), key("store:7", 2, "store:{id}")]
    with pytest.raises(
        ConfigError,
        match=r"'store:7' has two limits: 1 at once by 'store:\{store_id\}', and 2 at once by 'store:\{id\}'",
    ):
        world.enqueue(*(msgspec.structs.replace(world.new_job(), gates=(gate,)) for gate in gates))
    assert world.list_ids() == []


# In a span of time


def test_no_more_than_its_number_begin_in_any_period(world: World, session: int) -> None:
    jobs = add(world, rate("api", 3, 1.0), count=9)
    starts: list[float] = []
    for _ in range(40):
        claims = world.claim(session)
        starts += [world.clock.monotonic()] * len(claims)
        world.complete(*claims)
        world.clock.advance(0.1)
    assert len(starts) == len(jobs)
    for moment in starts:
        assert sum(moment <= other < moment + 1.0 for other in starts) <= 3
    assert starts[-1] - starts[0] < 2.2


def test_a_claim_says_when_the_next_may_begin(world: World, session: int) -> None:
    add(world, rate("api", 1, 10.0), count=2)
    first = world.store.claim_jobs(p.ClaimJobs(session, 10)).wait()
    assert len(first.jobs) == 1
    assert first.next_due_at == world.clock.now_us() + 10 * MICROSECONDS
    world.clock.advance(9.9)
    again = world.store.claim_jobs(p.ClaimJobs(session, 10)).wait()
    assert (again.jobs, again.next_due_at) == ([], first.next_due_at)
    world.clock.advance(0.1)
    assert len(world.claim(session)) == 1


def test_the_end_of_a_job_does_not_give_its_start_back(world: World, session: int) -> None:
    add(world, rate("api", 1, 10.0), count=2)
    (held,) = world.claim(session)
    world.complete(held)
    assert world.claim(session) == []


def test_a_start_that_was_given_back_before_it_began_does_not_count(world: World, session: int) -> None:
    one, other = add(world, rate("api", 1, 10.0), count=2)
    (held,) = world.claim(session)
    world.end(held, Event.RELEASE)
    assert ids(world.claim(session, 1)) in ([one], [other])


def test_a_clock_that_goes_back_neither_lets_more_through_nor_stops_all(world: World, session: int) -> None:
    add(world, rate("api", 2, 1.0), count=2)
    assert len(world.claim(session)) == 2
    world.clock.advance(-3600.0)
    add(world, rate("api", 2, 1.0), count=4)
    world.store.tend_gates(p.TendGates()).wait()
    assert world.claim(session) == []
    world.clock.advance(1.1)
    assert len(world.claim(session)) == 2


@pytest.mark.parametrize("ordered", [False, True])
def test_room_that_was_made_before_the_clock_went_back_is_used(world: World, session: int, ordered: bool) -> None:
    """Nobody has looked yet, and the moment at which to look is an hour ahead now."""
    _, second = add(world, msgspec.structs.replace(key("a"), ordered=ordered), count=2)
    world.clock.advance(3600.0)
    (held,) = world.claim(session)
    assert world.claim(session) == []
    world.complete(held)
    world.clock.advance(-3590.0)
    world.store.tend_gates(p.TendGates()).wait()
    assert ids(world.claim(session)) == [second]


def test_what_the_config_says_wins_over_the_code(world: World, session: int) -> None:
    add(world, rate("api", 1, 1.0), count=5)
    world.register("other", limits=(Limit("rate:api", 3, MICROSECONDS),))
    add(world, rate("api", 1, 1.0))
    assert len(world.claim(session)) == 3
    world.register("third", limits=())
    world.clock.advance(1.1)
    add(world, rate("api", 1, 1.0))
    assert len(world.claim(session)) == 1


def test_the_config_has_the_last_word_on_jobs_at_once_too(world: World, session: int) -> None:
    limits = (Limit("key:store:{id}", 2, None), Limit("rate:api", 3, MICROSECONDS))
    world.register("other", limits=limits)
    assert world.store.read_limits().wait() == list(limits)
    add(world, key("store:7", 1, "store:{id}"), count=4)
    assert len(world.claim(session)) == 2
    world.register("third", limits=())
    assert world.store.read_limits().wait() == []


def test_a_retry_of_a_dead_letter_passes_the_limits_of_its_queue_and_type(world: World, session: int) -> None:
    world.register("other", limits=(Limit("key:queue:mail", 1, None), Limit("rate:type:task", 5, MICROSECONDS)))
    dead = world.add_dead(session, queue="mail")
    new_id = world.new_id()
    world.store.retry_dead(p.RetryDead(filter=p.DeadFilter(ids=(dead,)), new_ids=[new_id])).wait()
    assert world.read(new_id).keys == ("type:task", "queue:mail")
    (held,) = world.claim(session)
    assert held.id == new_id
    add(world, key("queue:mail"), queue="mail")
    assert world.claim(session) == []


def test_a_job_that_is_in_a_call_twice_is_one_job(world: World, session: int) -> None:
    one, other = (msgspec.structs.replace(world.new_job(), gates=(key("a"),)) for _ in range(2))
    assert [new.created for new in world.enqueue(one, one, other, other)] == [True, False, True, False]
    (held,) = world.claim(session)
    world.complete(held)
    assert (held.id, ids(world.claim(session))) == (one.id, [other.id])


def test_one_for_later_does_not_keep_others_of_its_call_from_their_gate(world: World, session: int) -> None:
    later, now = (msgspec.structs.replace(world.new_job(delay=delay), gates=(key("a"),)) for delay in (5.0, 0.0))
    world.enqueue(later, now)
    assert ids(world.claim(session)) == [now.id]


# For all processes


def test_jobs_of_one_call_have_each_their_own_due_time(world: World, session: int) -> None:
    """Before a full gate, with a unique key, or with neither; in the past, now, or later."""
    now = world.clock.now_us()
    holder, _ = add(world, key("full"), count=2)
    assert ids(world.claim(session)) == [holder]
    moments = [now - 5 * MICROSECONDS, now - MICROSECONDS, now + 3 * MICROSECONDS, None]
    plain = [world.new_job(at=at, ttl=60.0) for at in moments]
    gated = [msgspec.structs.replace(world.new_job(at=at, ttl=60.0), gates=(key("full"),)) for at in moments]
    unique = [world.new_job(at=at, unique=Unique(f"unique {at}")) for at in moments]
    assert all(new.created for new in world.enqueue(*plain, *gated, *unique))
    for group, waiting in ((plain, State.PENDING), (gated, State.BLOCKED), (unique, State.PENDING)):
        jobs = [world.read(job.id) for job in group]
        assert [job.due_at for job in jobs] == [from_us(now if at is None else at) for at in moments]
        assert [job.state for job in jobs] == [waiting, waiting, State.SCHEDULED, waiting]
    claimed = ids(world.claim(session))
    assert claimed[:2] == [plain[0].id, unique[0].id], "the oldest first"
    assert set(claimed) == {job.id for group in (plain, unique) for job in (group[0], group[1], group[3])}
    world.clock.advance(3)
    assert set(ids(world.claim(session))) == {plain[2].id, unique[2].id}
    assert world.state(gated[2].id) is State.BLOCKED
    world.clock.advance(54)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    expired = [world.state(job.id) for job in gated]
    assert expired == [State.EXPIRED, State.BLOCKED, State.BLOCKED, State.BLOCKED], "each by its own due time"


def test_another_handle_sees_the_same_gates(world: World, session: int, open_again: OpenAgain) -> None:
    other = open_again()
    add(world, key("a"), rate("api", 1, 1.0), count=3)
    (held,) = other.claim(session)
    assert world.claim(session) == []
    other.complete(held)
    world.clock.advance(1.1)
    assert len(world.claim(session)) == 1


def test_many_blocked_jobs_are_let_through_one_after_the_other_in_order(world: World, session: int) -> None:
    jobs = add(world, key("a"), count=60)
    seen: list[str] = []
    while claims := world.claim(session):
        assert len(claims) == 1
        seen += ids(claims)
        world.complete(*claims)
    assert seen == jobs


def test_what_nobody_needs_is_forgotten_and_made_again(world: World, session: int) -> None:
    add(world, key("a"), rate("api", 1, 1.0))
    world.complete(*world.claim(session))
    world.clock.advance(5.0)
    world.store.tend_gates(p.TendGates()).wait()
    add(world, key("a"), rate("api", 1, 1.0), count=2)
    assert len(world.claim(session)) == 1
