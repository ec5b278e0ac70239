"""Rows that contradict each other, whoever made them so: no claim stops at them, and each is told of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from penstock.domain.job import Event, State, StateCode
from penstock.store import contract as p
from tests.store.postgres.held import faults
from tests.store.postgres.rivals import RivalWorld, emptied_world

MINUTE = 60.0
ENDED = "INSERT INTO outcome (id, state, attempt, finished_at) VALUES ('{id}', 4, 0, 1)"
LEASED = "INSERT INTO lease (token, id, attempt, session, claimed_at) VALUES (1, '{id}', 1, {session}, 1)"
LINED = "INSERT INTO waiting (lane, due_at, id, org) SELECT lane, due_at, id, org FROM job WHERE id = '{id}'"
PARKED = (
    "INSERT INTO parked (gate, lane, due_at, id, expires_at) "
    "SELECT gate.gate, job.lane, job.due_at, job.id, {expires} FROM job, gate WHERE job.id = '{id}'"
)
ELSEWHERE = (
    "INSERT INTO waiting (lane, due_at, id) SELECT lane.lane, 1, job.id FROM job, lane "
    "WHERE job.id = '{id}' AND lane.lane <> job.lane LIMIT 1"
)
WAKE = "UPDATE gate SET wake_at = 1"

POISONS: dict[str, tuple[str, ...]] = {
    "waiting and under way": (LEASED,),
    "waiting without a job": ("DELETE FROM job WHERE id = '{id}'",),
    "waiting twice": (ELSEWHERE,),
    "waiting, under way and ended": (LEASED, ENDED),
    "waiting and parked": (PARKED, WAKE),
    "parked, and under way": ("DELETE FROM waiting WHERE id = '{id}'", PARKED, LEASED, WAKE),
    "waiting with limits that cannot be read": ("UPDATE job SET gates = '[1]' WHERE id = '{id}'",),
}
EXPIRED_POISONS: dict[str, tuple[str, ...]] = {
    "waiting and ended": (ENDED,),
    "waiting and under way": (LEASED,),
    "waiting without a job": ("DELETE FROM job WHERE id = '{id}'",),
    "parked and ended": ("DELETE FROM waiting WHERE id = '{id}'", PARKED, ENDED),
    "parked and under way": ("DELETE FROM waiting WHERE id = '{id}'", PARKED, LEASED),
}


@pytest.fixture
def world() -> Iterator[RivalWorld]:
    with emptied_world() as world:
        yield world


@pytest.fixture
def session(world: RivalWorld) -> int:
    return world.register()


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    caplog.set_level(logging.ERROR, "penstock.store")
    return lambda: caplog.text


def poison(world: RivalWorld, session: int, statements: tuple[str, ...], **fields: object) -> str:
    """The first job of all, and what is wrong with it."""
    world.claim(session, 0)
    bad = world.add(**fields)
    other = world.rows("SELECT session FROM worker WHERE id = 'other'") or [(world.register("other"),)]
    world.rows("INSERT INTO gate (name, most, origin) VALUES ('g', 1, 'g') ON CONFLICT DO NOTHING")
    world.clock.advance(1)
    for text in statements:
        world.rows(text.format(id=bad, session=other[0][0], expires="1" if "ttl" in fields else "NULL"))
    return bad


@pytest.mark.parametrize("seen", ["known", "new"])
@pytest.mark.parametrize("what", POISONS)
def test_claims_get_past_rows_that_contradict_each_other(
    world: RivalWorld, session: int, told: Callable[[], str], what: str, seen: str
) -> None:
    world.add(type="other", delay=3600.0)
    bad = poison(world, session, POISONS[what])
    good = world.add_many(3)
    taken: list[str] = []
    if seen == "new":  # A connection that begins with all that is there.
        third = RivalWorld(world.server, world.schema)
        third.clock.advance(1)
        taken += [job.id for job in third.claim(third.register("third"))]
        third.store.close()
    taken += [job.id for _ in range(2) for job in world.claim(session)]
    assert sorted(set(taken) - {bad}) == sorted(good)
    assert taken.count(bad) == (what in ("waiting twice", "waiting and parked"))
    assert bad in told()
    assert faults(world) == []


@pytest.mark.parametrize("alone", [True, False])
def test_what_had_ended_before_keeps_its_outcome_and_holds_up_no_other(
    world: RivalWorld, session: int, alone: bool
) -> None:
    bad = poison(world, session, (ENDED,))
    good, given_back = world.add(), world.add()
    claims = {claim.id: claim for claim in world.claim(session)}
    assert set(claims) == {bad, good, given_back}
    completed = [p.Completed(claims[id_].token, world.clock.now_us()) for id_ in (bad, good)]
    back = [] if alone else [p.Unfinished(token=claims[given_back].token, event=Event.RELEASE)]
    assert world.store.finish_jobs(p.FinishJobs(completed, back)).wait().lost == []
    assert (world.state(bad), world.state(good)) == (State.EXPIRED, State.COMPLETED)
    assert world.state(given_back) is (State.CLAIMED if alone else State.PENDING)
    assert faults(world) == []


def test_claims_of_a_worker_get_past_them_too(world: RivalWorld, session: int, told: Callable[[], str]) -> None:
    bad = poison(world, session, (LEASED,))
    good = world.add()

    async def claim() -> p.Claimed:
        return await world.store.claim_jobs(p.ClaimJobs(session, 10))

    assert [job.id for job in asyncio.run(claim()).jobs] == [good]
    assert bad in told()


@pytest.mark.parametrize("who", ["claim", "duty"])
@pytest.mark.parametrize("what", EXPIRED_POISONS)
def test_expiry_gets_past_them(world: RivalWorld, session: int, told: Callable[[], str], what: str, who: str) -> None:
    """What ageing and time-to-live together have left in stores heals in this way."""
    bad = poison(world, session, EXPIRED_POISONS[what], ttl=30.0)
    other = world.add(ttl=30.0)
    world.clock.advance(MINUTE)
    good = world.add()
    if who == "duty":
        world.store.expire_jobs(p.ExpireJobs()).wait()
    assert [job.id for job in world.claim(session)] == [good]
    assert world.state(other) is State.EXPIRED
    assert bad in told()
    assert faults(world) == []


def test_failing_what_no_worker_can_run_gets_past_them(
    world: RivalWorld, session: int, told: Callable[[], str]
) -> None:
    ended, leased = (poison(world, session, (text,)) for text in (ENDED, LEASED.replace("VALUES (1", "VALUES (2")))
    good = world.add()
    spec = world.new_job().spec
    fail = p.FailUnroutable(
        type=spec.type, queue=spec.queue, capability=spec.capability, resources=spec.resources, reason="nobody"
    )
    assert world.store.fail_unroutable(fail).wait().ids == [good]
    assert ended in told()
    assert leased in told()
    assert faults(world) == []


def test_job_whose_limits_cannot_be_read_ends_dead(world: RivalWorld, session: int) -> None:
    bad = poison(world, session, POISONS["waiting with limits that cannot be read"])
    good = world.add()
    assert [job.id for job in world.claim(session)] == [good]
    [(state, reason)] = world.rows(f"SELECT state, reason FROM outcome WHERE id = '{bad}'")
    assert state == StateCode.DEAD
    assert "cannot be read" in reason


def test_expiry_that_fails_does_not_fail_the_claim(world: RivalWorld, session: int, told: Callable[[], str]) -> None:
    world.add(ttl=1.0)
    world.clock.advance(2)
    good = world.add()
    world.rows("ALTER TABLE outcome ADD CONSTRAINT never CHECK (state <> 4) NOT VALID")
    try:
        assert [job.id for job in world.claim(session)] == [good]
    finally:
        world.rows("ALTER TABLE outcome DROP CONSTRAINT never")
    assert "could not be ended" in told()


def test_error_that_is_nobodys_contradiction_is_raised(world: RivalWorld, session: int) -> None:
    world.add()
    world.rows("ALTER TABLE lease ADD CONSTRAINT never CHECK (attempt > 5) NOT VALID")
    try:
        with pytest.raises(Exception, match="never"):
            world.claim(session)
    finally:
        world.rows("ALTER TABLE lease DROP CONSTRAINT never")
    assert len(world.claim(session)) == 1


def test_doctor_tells_of_a_job_in_a_lane_that_does_not_exist(world: RivalWorld, session: int) -> None:
    world.add()
    good = world.add(type="other")
    world.rows("DELETE FROM lane WHERE type = 'task'")
    assert [job.id for job in world.claim(session)] == [good]
    assert [(fault, count) for fault, _, count, _ in faults(world)] == [("laneless", 1)]
